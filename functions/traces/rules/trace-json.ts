import { limits } from '../../../contracts/generated/limits.ts';
import { canonicalJson, type Json, type JsonObject } from '../../kernel/canonical-json.ts';

const DEPTH_MAX = 32;
/** The member with the size of the omitted part of an object. */
const CUT_NAME = '_cut';
/** Each open array and object may need a note about its omitted part: some 50 bytes at each level. */
const NOTES_BYTES = 4_096;

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
];
/** The last measure: the walk stops when the bytes are spent. */
const LAST: Measure = { text: 32, members: 64 };

export interface TraceContent {
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
}

/**
 * The content of a trace as it is stored: JSON of a bounded depth and size. Where it is too large, long texts, arrays and objects are
 * cut, and each says how much is missing: an object in the member `_cut`, with further `_` where it has such a member of its own. The
 * work follows the size of a trace, however large the content is and however often it holds the same value.
 */
export function boundedContent({ request, resultSummary }: TraceContent): TraceContent {
  const members = new MemberNames();
  for (const measure of measures) {
    const cut = new Cut(members, measure, limits.traceBytesMax, false);
    const content = { request: cut.object(request, 1), resultSummary: cut.object(resultSummary, 1) };
    if (!cut.isSpent && bytesOf(content) <= limits.traceBytesMax) return content;
  }
  // The summary is usually small, and holds the outcome of the request.
  const summary = new Cut(members, LAST, limits.traceBytesMax / 2 - NOTES_BYTES, true);
  const kept = summary.object(resultSummary, 1);
  const rest = new Cut(members, LAST, limits.traceBytesMax / 2 - NOTES_BYTES, true);
  return { request: rest.object(request, 1), resultSummary: kept };
}

/** @testonly */
export function bytesOf(content: object): number {
  return Buffer.byteLength(canonicalJson(content));
}

/** The names of the members of each object. A list of very many names takes time, so each is made once for all walks. */
class MemberNames {
  readonly #known = new Map<JsonObject, readonly string[]>();

  of(object: JsonObject): readonly string[] {
    const known = this.#known.get(object) ?? Object.keys(object);
    this.#known.set(object, known);
    return known;
  }
}

/** One walk through a value. It stops when its bytes are spent. If `notes` is set, it then notes how much it left out. */
class Cut {
  readonly #members: MemberNames;
  readonly #measure: Measure;
  readonly #notes: boolean;
  #left: number;

  constructor(members: MemberNames, measure: Measure, bytes: number, notes: boolean) {
    this.#members = members;
    this.#measure = measure;
    this.#left = bytes;
    this.#notes = notes;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  object(object: JsonObject, depth: number): JsonObject {
    const names = this.#members.of(object);
    const kept = new Map<string, Json>();
    let absent = 0;
    for (const name of names) {
      if (this.isSpent || kept.size >= this.#measure.members) break;
      const value = object[name];
      if (value === undefined) {
        absent += 1;
        continue;
      }
      const shown = this.#text(name);
      // The first of the names that are cut to the same text is kept.
      if (!kept.has(shown) && !this.isSpent) kept.set(shown, this.#value(value, depth + 1));
    }
    // Members that the walk did not visit are counted as missing without a look at their values.
    const missing = names.length - absent - kept.size;
    if (missing > 0 && this.#mayNote()) {
      let note = CUT_NAME;
      while (kept.has(note)) note += '_';
      kept.set(note, `${missing} members`);
    }
    return Object.fromEntries(kept);
  }

  #array(items: readonly Json[], depth: number): Json {
    const kept: Json[] = [];
    for (const item of items) {
      if (this.isSpent || kept.length >= this.#measure.members) break;
      kept.push(this.#value(item, depth + 1));
    }
    const missing = items.length - kept.length;
    if (missing > 0 && this.#mayNote()) kept.push(`[cut: ${missing} items]`);
    return kept;
  }

  #value(value: Json, depth: number): Json {
    if (typeof value === 'string') return this.#text(value);
    // A separator and at least one byte.
    this.#left -= 2;
    if (typeof value === 'number') return Number.isFinite(value) ? this.#number(value) : null;
    if (value === null || typeof value !== 'object') return value;
    if (depth > DEPTH_MAX) return this.#text('[cut: too deep]');
    return isArray(value) ? this.#array(value, depth) : this.object(value, depth);
  }

  #number(value: number): number {
    this.#left -= String(value).length - 1;
    return value;
  }

  /** Stores hold neither U+0000 nor a lone surrogate. */
  #text(text: string): string {
    const max = this.#measure.text;
    const kept = text.slice(0, max).toWellFormed().replaceAll('\0', '\uFFFD');
    const shown = text.length > max ? `${kept}[cut: ${text.length - max} characters]` : kept;
    // A text of more units than bytes are left has more bytes, too.
    this.#left -= shown.length > this.#left ? shown.length + 1 : Buffer.byteLength(JSON.stringify(shown)) + 1;
    return shown;
  }

  /** A walk whose result is discarded needs no notes. */
  #mayNote(): boolean {
    return this.#notes || !this.isSpent;
  }
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
