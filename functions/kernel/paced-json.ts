import type { Json } from './canonical-json.ts';
import {
  countMembers,
  type JsonCounts,
  JsonScan,
  malformed,
  parsed,
  type StrictJsonLimits,
  strictJsonLimits,
  textOf,
} from './strict-json.ts';
import type { Turns } from './turns.ts';

/**
 * Parses a large JSON body as `parseStrictJson` does, in parts: neither the scan nor the parser keeps other calls waiting
 * for long. The text is cut at items of its outer arrays, which are those that no other array contains.
 */
export interface PacedJsonLimits extends StrictJsonLimits {
  /** Of one item of an outer array, and of the text around these arrays. */
  readonly itemMembersMax: number;
  readonly itemContainersMax: number;
  /** Characters of one item, and of the text around the arrays: numbers count as neither members nor containers. */
  readonly itemLengthMax?: number;
}

/** Read between two questions for a turn. */
const SCAN_LENGTH = 256 * 1024;
const PIECE_LENGTH = 64 * 1024;

interface OuterArray {
  /** Behind the opening bracket. */
  readonly start: number;
  readonly cuts: number[];
  end: number;
}

export async function parsePacedJson(bytes: Uint8Array, most: PacedJsonLimits, turns: Turns): Promise<Json> {
  const text = textOf(bytes);
  const arrays: OuterArray[] = [];
  const { scan, finish } = scanOf(text, most, arrays);
  for (let end = SCAN_LENGTH; !scan.isDone; end += SCAN_LENGTH) {
    scan.run(Math.min(end, text.length));
    if (turns.due()) await turns.next();
  }
  finish();
  most.measured?.(scan);
  const contents: Json[][] = [];
  let members = 0;
  for (const array of arrays) {
    const items: Json[] = [];
    for (const piece of piecesOf(text, array)) {
      const values = parsed(`[${piece}]`) as Json[];
      if (array.cuts.length > 0 && values.length === 0) throw malformed('The body is not valid JSON.');
      for (const value of values) items.push(value);
      members += countMembers(values);
      if (turns.due()) await turns.next();
    }
    contents.push(items);
  }
  const frame = parsed(frameOf(text, arrays));
  members += countMembers(frame);
  const value = filled(frame, contents);
  if (members !== scan.members) throw malformed('An object of the body names a member twice.');
  return value;
}

interface ArrayScan {
  readonly scan: JsonScan;
  /** Judges the text behind the last array. */
  readonly finish: () => void;
}

function scanOf(text: string, most: PacedJsonLimits, arrays: OuterArray[]): ArrayScan {
  let array: OuterArray = { start: 0, cuts: [], end: 0 };
  let item: JsonCounts & { readonly start: number } = { start: 0, ...nothing };
  const amounts = new Amounts(most);
  const ended = (position: number, counts: JsonCounts): void => {
    amounts.ofItem(difference(counts, item), isObjectAt(text, item.start, position));
    amounts.ofLength(position - item.start);
    item = { start: position + 1, ...counts };
  };
  const scan = new JsonScan(text, most, {
    opened: (position, counts) => {
      amounts.ofFrame(difference(counts, item), position - array.end);
      item = { start: position + 1, ...counts };
      array = { start: position + 1, cuts: [], end: position + 1 };
      arrays.push(array);
    },
    item: (position, counts) => {
      ended(position, counts);
      if (position - (array.cuts.at(-1) ?? array.start) >= PIECE_LENGTH) array.cuts.push(position);
    },
    closed: (position, counts) => {
      ended(position, counts);
      array.end = position;
    },
  });
  return { scan, finish: () => amounts.ofFrame(difference(scan, item), text.length - array.end) };
}

const nothing: JsonCounts = { members: 0, containers: 0 };

function difference(later: JsonCounts, earlier: JsonCounts): JsonCounts {
  return { members: later.members - earlier.members, containers: later.containers - earlier.containers };
}

function isObjectAt(text: string, start: number, end: number): boolean {
  let at = start;
  while (at < end && text.charCodeAt(at) <= 0x20) at += 1;
  return text[at] === '{';
}

/** Refuses more than the items of a valid body hold, before their values take memory. */
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
    // The lists of a body that large hold objects.
    if (!isObject) this.#inArrays += containers;
    if (this.#inArrays > strictJsonLimits.containersMax)
      throw malformed(`The lists of the body hold more than ${strictJsonLimits.containersMax} arrays.`);
  }

  /** What stands outside of all lists is parsed in one go, so it is bounded as one item is. */
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

function* piecesOf(text: string, { start, cuts, end }: OuterArray): Generator<string, void, undefined> {
  let from = start;
  for (const cut of cuts) {
    yield text.slice(from, cut);
    from = cut + 1;
  }
  yield text.slice(from, end);
}

/** The text with the place of each outer array in its stead: in the frame every array holds one number. */
function frameOf(text: string, arrays: readonly OuterArray[]): string {
  let frame = '';
  let from = 0;
  for (const [place, { start, end }] of arrays.entries()) {
    frame += `${text.slice(from, start)}${place}`;
    from = end;
  }
  return frame + text.slice(from);
}

function filled(frame: Json, contents: readonly Json[][]): Json {
  if (typeof frame !== 'object' || frame === null) return frame;
  if (Array.isArray(frame)) return contents[Number(frame[0])] ?? [];
  const object = frame as Record<string, Json>;
  for (const [name, value] of Object.entries(object)) object[name] = filled(value, contents);
  return object;
}
