import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { ToolResult } from '../catalog.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';

/** Says that the texts of a result are data of the tenant, and nothing that the service tells a model. */
const DATA: JsonObject = { 'svc.runtime/content': 'data' };

/**
 * The JSON text of an answer as a result: whole where it fits, else the part from `offset` on. The parts of an answer have
 * one hash, so that a caller sees whether the answer changed between two of them.
 */
export function boundedResult(text: string, offset: number | null, lengthMax: number): ToolResult {
  if (offset === null && sentLength(text, lengthMax) <= lengthMax)
    return resultOf(parseJson(text) as Json, text);
  const part = partOf(text, offset ?? 0, lengthMax);
  return resultOf(part, JSON.stringify(part));
}

/** The characters of a text as a message holds it: with a backslash before each quote. Longer than the bound: at least its length. */
export function sentLength(text: string, lengthMax: number): number {
  return text.length > lengthMax ? text.length : JSON.stringify(text).length;
}

/** A whole answer as a result: as values and as text. */
export function resultOf(structuredContent: Json, text: string): ToolResult {
  return {
    resultType: 'complete',
    content: [{ type: 'text', text }],
    structuredContent,
    _meta: DATA,
  };
}

function partOf(text: string, offset: number, lengthMax: number): JsonObject {
  if (offset > text.length)
    throw invalidMember(`/${OFFSET_ARGUMENT}`, `is behind the end of the answer, at ${text.length}`);
  const begin = offset > 0 && isSecondHalf(text, offset) ? offset - 1 : offset;
  const hash = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  // A text with many quotes grows when it is written into a message, so as much of it is taken as fits there.
  for (let count = lengthMax; ; ) {
    const part = { part: { ...cutOf(text, begin, count), length: text.length, hash } };
    const length = JSON.stringify(JSON.stringify(part)).length;
    if (length <= lengthMax || count === 1) return part;
    count = Math.max(1, Math.floor((Math.min(count, text.length - begin) * lengthMax) / length));
  }
}

/** About `count` characters from `begin` on, without a cut through one. */
function cutOf(text: string, begin: number, count: number) {
  const at = Math.min(text.length, begin + count);
  const end = at < text.length && isSecondHalf(text, at) ? at + 1 : at;
  return { text: text.slice(begin, end), offset: begin, nextOffset: end < text.length ? end : null };
}

/** Whether a cut before `at` would split a character in two. */
function isSecondHalf(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
