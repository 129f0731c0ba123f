import { limits } from '../../../contracts/generated/limits.ts';
import { canonicalJson, type Json, type JsonObject } from '../../kernel/canonical-json.ts';

const DEPTH_MAX = 32;
/** The member that tells how much of an object was left out. */
const CUT_NAME = '_cut';

/** How much of a value is kept: UTF-16 units of a text, members of an object or items of an array. */
interface Measure {
  readonly text: number;
  readonly members: number;
}

const WHOLE: Measure = { text: Infinity, members: Infinity };
/** Tried one after the other until the trace is small enough. */
const measures: readonly Measure[] = [
  WHOLE,
  { text: 4_096, members: 256 },
  { text: 512, members: 64 },
  { text: 128, members: 16 },
  { text: 32, members: 8 },
];

export interface TraceContent {
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
}

/**
 * The content of a trace as it is stored: JSON of a bounded depth and size. Where it is too large, long texts, arrays and
 * objects are cut, and each says how much is missing.
 */
export function boundedContent({ request, resultSummary }: TraceContent): TraceContent {
  for (const measure of measures) {
    const content = {
      request: cutObject(request, measure, 1),
      resultSummary: cutObject(resultSummary, measure, 1),
    };
    if (bytesOf(content) <= limits.traceBytesMax) return content;
  }
  return { request: { [CUT_NAME]: 'too large' }, resultSummary: { [CUT_NAME]: 'too large' } };
}

export function bytesOf(content: object): number {
  return Buffer.byteLength(canonicalJson(content));
}

function cutValue(value: Json, measure: Measure, depth: number): Json {
  if (typeof value === 'string') return cutText(value, measure.text);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value === null || typeof value !== 'object') return value;
  if (depth > DEPTH_MAX) return '[cut: too deep]';
  return isArray(value) ? cutArray(value, measure, depth) : cutObject(value, measure, depth);
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Stores hold neither U+0000 nor a lone surrogate. */
function cutText(text: string, max: number): string {
  const kept = text.slice(0, max).toWellFormed().replaceAll('\0', '\uFFFD');
  return text.length > max ? `${kept}[cut: ${text.length - max} characters]` : kept;
}

function cutArray(items: readonly Json[], measure: Measure, depth: number): Json {
  const kept = items.slice(0, measure.members).map((item) => cutValue(item, measure, depth + 1));
  return items.length > measure.members ? [...kept, `[cut: ${items.length - measure.members} items]`] : kept;
}

function cutObject(object: JsonObject, measure: Measure, depth: number): JsonObject {
  const members = Object.entries(object).filter(([, value]) => value !== undefined);
  const kept: [string, Json][] = members
    .slice(0, measure.members)
    .map(([name, value]) => [cutText(name, measure.text), cutValue(value, measure, depth + 1)]);
  if (members.length > measure.members) kept.push([CUT_NAME, `${members.length - measure.members} members`]);
  return Object.fromEntries(kept);
}
