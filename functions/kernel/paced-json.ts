import type { Json } from './canonical-json.ts';
import type { ExactNumbers } from './exact-numbers.ts';
import { countedInSteps } from './parsed-in-steps.ts';
import {
  countMembers,
  type JsonCounts,
  type JsonMeasure,
  JsonScan,
  judgeOf,
  malformed,
  type StrictJsonLimits,
  strictJsonLimits,
} from './strict-json.ts';
import { textParts } from './text-parts.ts';
import { inTurns, type Turns } from './turns.ts';

/**
 * Parses a large JSON body as `parseStrictJson` does, but in parts, so that other calls do not wait long for the scan or the
 * parser. The text is cut at the items of its outer arrays, which are those that no other array contains. The text is decoded
 * twice, in parts, and never held whole.
 */
export interface PacedJsonLimits extends StrictJsonLimits {
  /** The most members of one item of an outer array, and of the text around these arrays. */
  readonly itemMembersMax: number;
  readonly itemContainersMax: number;
  /** The most characters of one item, and of the text around the arrays: numbers count as neither members nor containers. */
  readonly itemLengthMax?: number;
}

const PIECE_LENGTH = 64 * 1024;

interface OuterArray {
  /** The position after the opening bracket. */
  readonly start: number;
  readonly cuts: number[];
  end: number;
}

export async function parsePacedJson(
  blocks: readonly Uint8Array[],
  most: PacedJsonLimits,
  turns: Turns,
): Promise<Json> {
  const { counts, arrays } = await scanned(blocks, most, turns);
  most.measured?.(counts);
  const numbers = judgeOf(counts, most);
  const text = new TextInOrder(textParts(blocks), turns, numbers);
  const contents: Json[][] = [];
  let frameText = '';
  let members = 0;
  for (const [place, array] of arrays.entries()) {
    // In the frame every array holds only a placeholder.
    frameText += `${await text.upTo(array.start)}${place}`;
    const items: Json[] = [];
    for (const end of [...array.cuts, array.end]) {
      const part = await counted(`[${await text.upTo(end)}]`, turns);
      const values = part.value as Json[];
      if (array.cuts.length > 0 && values.length === 0) throw malformed('The body is not valid JSON.');
      for (const value of values) items.push(value);
      members += part.members;
      if (end !== array.end) await text.upTo(end + 1);
      if (turns.due()) await turns.next();
    }
    contents.push(items);
  }
  const frame = await counted(frameText + (await text.upTo(Infinity)), turns);
  members += frame.members;
  const value = await inTurns(filled(frame.value, contents), turns);
  if (members !== counts.members) throw malformed('An object of the body names a member twice.');
  return value;
}

interface Counted {
  readonly value: Json;
  readonly members: number;
}

/** The value of a part, parsed in steps: a valid part may have a hundred thousand member names. */
function counted(text: string, turns: Turns): Promise<Counted> {
  return inTurns(countedPart(text), turns);
}

function* countedPart(text: string): Generator<void, Counted> {
  try {
    return (yield* countedInSteps(text, (value) => countMembers(value as Json))) as Counted;
  } catch (error) {
    // The message of the engine quotes the body.
    throw error instanceof SyntaxError ? malformed('The body is not valid JSON.') : error;
  }
}

/** The text of parts, from its beginning to its end. */
class TextInOrder {
  readonly #parts: Iterator<string>;
  readonly #turns: Turns;
  readonly #numbers: ExactNumbers | null;
  #before = 0;
  #text = '';

  constructor(parts: Iterator<string>, turns: Turns, numbers: ExactNumbers | null) {
    this.#parts = parts;
    this.#turns = turns;
    this.#numbers = numbers;
  }

  /** The text between the end of the last call and `end`; throws where it holds a number that a double changes. */
  async upTo(end: number): Promise<string> {
    while (this.#before + this.#text.length < end) {
      const { done, value } = this.#parts.next();
      if (done === true) break;
      this.#text += value;
      if (this.#turns.due()) await this.#turns.next();
    }
    const text = this.#text.slice(0, Math.max(0, end - this.#before));
    this.#text = this.#text.slice(text.length);
    this.#before += text.length;
    if (this.#numbers !== null) await inTurns(this.#numbers.runInSteps(text), this.#turns);
    return text;
  }
}

interface Scanned {
  readonly counts: JsonMeasure;
  readonly arrays: readonly OuterArray[];
}

async function scanned(blocks: readonly Uint8Array[], most: PacedJsonLimits, turns: Turns): Promise<Scanned> {
  const arrays: OuterArray[] = [];
  const { scan, finish } = scanOf(most, arrays);
  let text = '';
  let length = 0;
  let least = 0;
  for (const part of textParts(blocks)) {
    length += part.length;
    text += part;
    // A long number is scanned again from its beginning, so the next part must be at least as long.
    if (text.length >= least) {
      text = scan.run(text, false);
      least = 2 * text.length;
    }
    if (turns.due()) await turns.next();
  }
  scan.run(text);
  finish(length);
  return { counts: scan, arrays };
}

interface ArrayScan {
  readonly scan: JsonScan;
  /** Checks the text after the last array. */
  readonly finish: (length: number) => void;
}

function scanOf(most: PacedJsonLimits, arrays: OuterArray[]): ArrayScan {
  let array: OuterArray = { start: 0, cuts: [], end: 0 };
  let item: JsonCounts & { readonly start: number } = { start: 0, ...nothing };
  const amounts = new Amounts(most);
  const ended = (position: number, counts: JsonCounts, isObject: boolean): void => {
    amounts.ofItem(difference(counts, item), isObject);
    amounts.ofLength(position - item.start);
    item = { start: position + 1, ...counts };
  };
  const scan = new JsonScan(most, {
    opened: (position, counts) => {
      amounts.ofFrame(difference(counts, item), position - array.end);
      item = { start: position + 1, ...counts };
      array = { start: position + 1, cuts: [], end: position + 1 };
      arrays.push(array);
    },
    item: (position, counts, isObject) => {
      ended(position, counts, isObject);
      if (position - (array.cuts.at(-1) ?? array.start) >= PIECE_LENGTH) array.cuts.push(position);
    },
    closed: (position, counts, isObject) => {
      ended(position, counts, isObject);
      array.end = position;
    },
  });
  return { scan, finish: (length) => amounts.ofFrame(difference(scan, item), length - array.end) };
}

const nothing: JsonCounts = { members: 0, containers: 0 };

function difference(later: JsonCounts, earlier: JsonCounts): JsonCounts {
  return { members: later.members - earlier.members, containers: later.containers - earlier.containers };
}

/** Refuses more members or containers than a valid body holds, before their values take memory. */
class Amounts {
  readonly #most: PacedJsonLimits;
  #frame = nothing;
  #frameLength = 0;
  #inArrays = 0;

  constructor(most: PacedJsonLimits) {
    this.#most = most;
  }

  ofItem({ members, containers }: JsonCounts, isObject: boolean): void {
    const { itemMembersMax, itemContainersMax } = this.#most;
    if (containers > itemContainersMax)
      throw malformed(`An item of the body holds more than ${itemContainersMax} objects and arrays.`);
    if (members > itemMembersMax)
      throw malformed(`An item of the body holds more than ${itemMembersMax} members.`);
    // In a valid body of this size the items of lists are objects.
    if (!isObject) this.#inArrays += containers;
    if (this.#inArrays > strictJsonLimits.containersMax)
      throw malformed(`The lists of the body hold more than ${strictJsonLimits.containersMax} arrays.`);
  }

  /** The text outside the lists is parsed in one step, so it has the bounds of one item. */
  ofFrame({ members, containers }: JsonCounts, length: number): void {
    const frame = { members: this.#frame.members + members, containers: this.#frame.containers + containers };
    this.#frame = frame;
    this.ofItem(frame, true);
    this.#frameLength += length;
    this.ofLength(this.#frameLength);
  }

  ofLength(length: number): void {
    const { itemLengthMax = Infinity } = this.#most;
    if (length > itemLengthMax)
      throw malformed(`An item of the body has more than ${itemLengthMax} characters.`);
  }
}

/** Members of one step, which takes less than a millisecond. */
const STEP_MEMBERS = 4_096;

function* filled(frame: Json, contents: readonly Json[][]): Generator<void, Json> {
  if (typeof frame !== 'object' || frame === null) return frame;
  if (Array.isArray(frame)) return contents[Number(frame[0])] ?? [];
  const object = frame as Record<string, Json>;
  for (const [place, name] of Object.keys(object).entries()) {
    const member = object[name];
    if (typeof member === 'object' && member !== null) object[name] = yield* filled(member, contents);
    if ((place + 1) % STEP_MEMBERS === 0) yield;
  }
  return object;
}
