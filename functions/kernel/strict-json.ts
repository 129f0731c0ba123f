import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from './canonical-json.ts';
import { ServiceError } from './errors.ts';
import { ExactNumbers, type FloatMembers, isExact } from './exact-numbers.ts';
import { parseJson } from './json-text.ts';

/**
 * Reads JSON strictly. `JSON.parse` checks the grammar; the code around it refuses input that `JSON.parse` accepts: invalid
 * UTF-8, repeated members, `__proto__`, deep nesting, lone surrogates, and numbers that a double would change.
 *
 * One scan before parsing counts members and depth without looking at names, so that a hostile document is refused
 * before it costs memory. A walk after parsing counts the members of the value: a smaller number means that the text repeats
 * a name, in any spelling.
 */
export interface StrictJsonLimits {
  readonly depthMax: number;
  readonly membersMax: number;
  /** Objects and arrays. */
  readonly containersMax: number;
  /** Accepts a lone surrogate: the text of a model may end within a character. */
  readonly keepsHalfCharacters?: boolean;
  /** The members whose numbers may round to a double unless they are spelled as integers; absent: none. */
  readonly floats?: FloatMembers;
  /** The members whose numbers, also integers, the caller judges itself; absent: none. */
  readonly unjudged?: FloatMembers;
  /** The JSON Pointer of the text, for the refusal of a number. */
  readonly pointer?: string;
  /** Receives the counts of the text before its values take memory; may throw. */
  readonly measured?: (counts: JsonMeasure) => void;
}

export interface JsonCounts {
  readonly members: number;
  readonly containers: number;
}

/** The counts that `measured` receives. */
export interface JsonMeasure extends JsonCounts, LongNumbers {}

export interface LongNumbers {
  /** Whether a number not spelled as an integer is long enough, or has an exponent large enough, that a double may change it. */
  readonly hasLongNumber: boolean;
  /** Whether a double changes an integer. */
  readonly hasChangedInteger: boolean;
  /** Whether no double holds a number. */
  readonly hasOverflow: boolean;
}

export const strictJsonLimits: StrictJsonLimits = {
  depthMax: limits.jsonDepthMax,
  membersMax: limits.jsonMembersMax,
  containersMax: limits.jsonContainersMax,
};

const backslash = /\\/;

// Keep a byte order mark, so that JSON.parse refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function parseStrictJson(bytes: Uint8Array, most: StrictJsonLimits = strictJsonLimits): Json {
  return parseStrictJsonText(textOf(bytes), most);
}

/** A judge for the numbers of a text that the parser accepts; `null` if no number needs one. */
export function judgeOf(
  { hasLongNumber, hasChangedInteger, hasOverflow }: LongNumbers,
  { floats, unjudged, pointer }: Pick<StrictJsonLimits, 'floats' | 'unjudged' | 'pointer'>,
): ExactNumbers | null {
  const hasAny = hasLongNumber || hasChangedInteger || hasOverflow;
  if (unjudged !== undefined) return hasAny ? new ExactNumbers({ floats: unjudged, pointer }) : null;
  if (hasOverflow) return new ExactNumbers({ pointer, only: 'overflowing' });
  if (hasChangedInteger) return new ExactNumbers({ pointer, only: 'integers' });
  return hasLongNumber ? new ExactNumbers({ floats, pointer }) : null;
}

export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
}

export function parseStrictJsonText(text: string, most: StrictJsonLimits = strictJsonLimits): Json {
  if (!text.isWellFormed()) throw malformed('The text holds a lone surrogate.');
  const scan = new JsonScan(most);
  scan.run(text);
  most.measured?.(scan);
  const value = parsed(text);
  if (countMembers(value) !== scan.members) throw malformed('An object of the body names a member twice.');
  judgeOf(scan, most)?.run(text);
  return value;
}

function parsed(text: string): Json {
  try {
    return parseJson(text) as Json;
  } catch {
    // The message of the engine quotes the body.
    throw malformed('The body is not valid JSON.');
  }
}

/** Counts the members, and the objects and arrays, of a JSON text that this service wrote. */
export function measureJson(text: string): JsonCounts {
  const scan = new JsonScan({ depthMax: Infinity, membersMax: Infinity, containersMax: Infinity });
  scan.run(text);
  return scan;
}

/** Receives the positions of arrays that no other array contains, so that they can be parsed piece by piece. */
export interface OuterArrays {
  /** The positions of their brackets and commas, each with the counts so far. */
  readonly opened: (position: number, counts: JsonCounts) => void;
  readonly item: (position: number, counts: JsonCounts, isObject: boolean) => void;
  readonly closed: (position: number, counts: JsonCounts, isObject: boolean) => void;
}

/**
 * Counts the members and containers of a text, whole or in parts. For invalid JSON the counts mean nothing, and the parser
 * refuses the text.
 */
export class JsonScan implements JsonMeasure {
  readonly #most: StrictJsonLimits;
  readonly #outer: OuterArrays | null;
  /** Characters before the part. */
  #before = 0;
  #depth = 0;
  #arrayDepth = 0;
  /** Whether the last container in the item of an outer array is an object. */
  #isObject = false;
  members = 0;
  containers = 0;
  hasLongNumber = false;
  hasChangedInteger = false;
  hasOverflow = false;

  constructor(most: StrictJsonLimits, outer: OuterArrays | null = null) {
    this.#most = most;
    this.#outer = outer;
  }

  /**
   * Scans a part of the text. The caller prepends the returned rest to the next part, because a string or a number may continue
   * there. Of an open string the rest holds only the opening quote, so that it is scanned once.
   */
  run(text: string, isLast = true): string {
    const { depthMax, membersMax, containersMax, keepsHalfCharacters = false } = this.#most;
    // Without escapes the next quote ends a string, and the engine finds it faster than a loop. Tested with a pattern: the
    // optimising compiler repeats `includes` for every string (40 times slower).
    const escapes = backslash.test(text);
    let [position, depth, members, containers] = [0, this.#depth, this.members, this.containers];
    let quote = '';
    while (position < text.length) {
      const code = text.charCodeAt(position);
      if (code === 0x22) {
        const close = escapes
          ? endOfEscapedString(text, position + 1, keepsHalfCharacters, isLast)
          : text.indexOf('"', position + 1);
        if (close >= 0) {
          position = close + 1;
          continue;
        }
        if (isLast) throw malformed('The body is not valid JSON.');
        quote = '"';
        position = escapes ? ~close : text.length;
        break;
      }
      if (code === 0x7b || code === 0x5b) {
        containers += 1;
        if (containers > containersMax)
          throw malformed(`The body holds more than ${containersMax} objects and arrays.`);
        depth += 1;
        if (depth > depthMax) throw malformed(`The body is nested deeper than ${depthMax} levels.`);
        if (depth === this.#arrayDepth + 1) this.#isObject = code === 0x7b;
        if (code === 0x5b && this.#arrayDepth === 0 && this.#outer !== null)
          this.#open(position, depth, { containers, members });
      } else if (code === 0x7d || code === 0x5d) {
        if (depth === this.#arrayDepth && depth > 0) this.#close(position, code, { containers, members });
        depth -= 1;
      } else if (code === 0x2c) {
        if (depth === this.#arrayDepth && depth > 0) this.#item(position, { containers, members });
      } else if (code === 0x3a) {
        members += 1;
        if (members > membersMax) throw malformed(`The body holds more than ${membersMax} members.`);
      } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        const end = this.#endOfNumber(text, position, isLast);
        if (end < 0) break;
        position = end;
        continue;
      }
      position += 1;
    }
    this.#before += position - quote.length;
    this.#depth = depth;
    this.members = members;
    this.containers = containers;
    return quote + text.slice(position);
  }

  /**
   * The position after a number; negative if it may continue after the text. Refuses a number that overflows to infinity. A double
   * keeps 15 digits with a two-digit exponent, so only longer numbers are judged after the parser has read the text.
   */
  #endOfNumber(text: string, start: number, isLast: boolean): number {
    let end = start + 1;
    let isInteger = true;
    let power = 0;
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code >= 0x30 && code <= 0x39) continue;
      // A dot, an exponent or its sign.
      if (code === 0x65 || code === 0x45) power = end + 1;
      else if (code !== 0x2e && code !== 0x2b && code !== 0x2d) break;
      else if (power === end) power += 1;
      isInteger = false;
    }
    if (end === text.length && !isLast) return -1;
    const isLargePower = power > 0 && end - power > 2;
    if (end - start < (isInteger ? 16 : 17) && !isLargePower) return end;
    if (
      (isLargePower || end - start > OVERFLOWING_LENGTH) &&
      !Number.isFinite(Number(text.slice(start, end)))
    )
      this.hasOverflow = true;
    else if (!isInteger) this.hasLongNumber = true;
    else if (!isExact(text.slice(start, end))) this.hasChangedInteger = true;
    return end;
  }

  #open(position: number, depth: number, counts: JsonCounts): void {
    this.#arrayDepth = depth;
    this.#isObject = false;
    this.#outer?.opened(this.#before + position, counts);
  }

  #item(position: number, counts: JsonCounts): void {
    this.#outer?.item(this.#before + position, counts, this.#isObject);
    this.#isObject = false;
  }

  #close(position: number, code: number, counts: JsonCounts): void {
    if (code !== 0x5d) throw malformed('The body is not valid JSON.');
    this.#arrayDepth = 0;
    this.#outer?.closed(this.#before + position, counts, this.#isObject);
  }
}

/** A shorter literal with a two-digit exponent stays below 1e309. */
const OVERFLOWING_LENGTH = 200;
/** The length of the longest escape: a pair of surrogates. */
const ESCAPE_LENGTH = 12;

/**
 * The position of the quote that closes the string whose text begins at `position`. If the text ends before it, the bitwise
 * complement (`~`) of a position outside of any escape.
 */
function endOfEscapedString(text: string, position: number, keepsHalves: boolean, isLast: boolean): number {
  const end = isLast ? text.length : text.length - ESCAPE_LENGTH;
  let at = position;
  let highSurrogateEnd = -1;
  for (;;) {
    const pending = highSurrogateEnd === at;
    if (at >= end && (!pending || keepsHalves || isLast)) return ~at;
    const code = text.charCodeAt(at);
    if (code === 0x5c && text.charCodeAt(at + 1) === 0x75) {
      const unit = Number.parseInt(text.slice(at + 2, at + 6), 16);
      const low = unit >= 0xdc00 && unit <= 0xdfff;
      if (low !== pending && !keepsHalves) throw malformed('A string of the body holds a lone surrogate.');
      at += 6;
      if (unit >= 0xd800 && unit <= 0xdbff) highSurrogateEnd = at;
      continue;
    }
    if (pending && !keepsHalves) throw malformed('A string of the body holds a lone surrogate.');
    if (code === 0x22) return at;
    at += code === 0x5c ? 2 : 1;
  }
}

/** The members of a value, at every level. The recursion is as deep as the scan allowed. */
export function countMembers(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') members += countMembers(item);
    return members;
  }
  const object = value as { readonly [member: string]: Json };
  for (const name of Object.keys(object)) {
    // Harmless here, but dangerous in every later assignment and merge.
    if (name === '__proto__') throw malformed('A member of the body is named __proto__.');
    members += 1;
    const item = object[name];
    if (typeof item === 'object' && item !== null) members += countMembers(item);
  }
  return members;
}

export function malformed(detail: string): ServiceError {
  return new ServiceError('malformed_request', detail);
}
