import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { ToolResult } from '../catalog.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';
import { type SteadyText, steadyText } from './own-values.ts';

/** Marks the texts of a result as data of the tenant, not as instructions of the service to a model. */
export const DATA: JsonObject = { 'svc.runtime/content': 'data' };

/**
 * An answer as a result: whole if it fits, else the part from `offset`. Each part comes from a call of its own. All parts carry the
 * hash of the answer without the values that differ in each call, such as the time, so a changed hash shows a changed answer.
 */
export function boundedResult(
  operationId: string,
  text: string,
  offset: number | null,
  lengthMax: number,
): ToolResult {
  if (offset === null && sentLength(text, lengthMax) <= lengthMax)
    return resultOf(parseJson(text) as Json, text);
  const part = partOf(steadyText(operationId, text), offset ?? 0, lengthMax);
  return resultOf(part, JSON.stringify(part));
}

/** The length of a text with JSON escapes, as a message holds it. For a text beyond the bound, its length without them. */
export function sentLength(text: string, lengthMax: number): number {
  return text.length > lengthMax ? text.length : JSON.stringify(text).length;
}

/** A whole answer as a result, with its values and its text. */
export function resultOf(structuredContent: Json, text: string): ToolResult {
  return {
    resultType: 'complete',
    content: [{ type: 'text', text }],
    structuredContent,
    _meta: DATA,
  };
}

function partOf(whole: SteadyText, offset: number, lengthMax: number): JsonObject {
  const { text } = whole;
  if (offset > text.length)
    throw invalidMember(
      `/${OFFSET_ARGUMENT}`,
      `is after the end of the answer, which has ${text.length} characters`,
    );
  const begin = placeOfCut(whole, offset).before;
  const hash = hashOf(whole);
  // JSON escapes lengthen the text in a message, so shorten the part until it fits.
  for (let count = lengthMax; ; ) {
    const part = { part: { ...cutOf(whole, begin, count), length: text.length, hash } };
    const length = JSON.stringify(JSON.stringify(part)).length;
    if (length <= lengthMax || count === 1) return part;
    count = Math.max(1, Math.floor((Math.min(count, text.length - begin) * lengthMax) / length));
  }
}

/** About `count` characters from `begin`. Never splits a character. */
function cutOf(whole: SteadyText, begin: number, count: number) {
  const { text } = whole;
  const { before, behind } = placeOfCut(whole, Math.min(text.length, begin + count));
  const end = before <= begin ? behind : before;
  return { text: text.slice(begin, end), offset: begin, nextOffset: end < text.length ? end : null };
}

/** The places next to `at` where a cut splits neither a character nor a value that differs in each call. */
function placeOfCut(
  { text, own }: SteadyText,
  at: number,
): { readonly before: number; readonly behind: number } {
  const within = own.find(({ begin, end }) => begin < at && at < end);
  if (within !== undefined) return { before: within.begin, behind: within.end };
  return at > 0 && isSecondHalf(text, at) ? { before: at - 1, behind: at + 1 } : { before: at, behind: at };
}

/** Hash of the answer without the values that differ in each call. */
function hashOf({ text, own }: SteadyText): string {
  const hash = createHash('sha256');
  let at = 0;
  for (const { begin, end } of own) {
    hash.update(text.slice(at, begin)).update(' '.repeat(end - begin));
    at = end;
  }
  return `sha256:${hash.update(text.slice(at)).digest('hex')}`;
}

/** Whether a cut before `at` would split a character in two. */
function isSecondHalf(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
