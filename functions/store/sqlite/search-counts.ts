import type { Scope } from '../port.ts';
import {
  type FoundEntry,
  type HoldersRequest,
  USUAL_WORD_CODE,
  type WordCounts,
  type WordCountsReader,
  type WordCountsRequest,
} from '../search.ts';
import type { Connection } from './connection.ts';
import { groupNumber } from './search-group.ts';
import { readLengths } from './search-lengths.ts';
import { codeIn, codeTokens, tokenOf } from './search-tokens.ts';
import type { Read } from './search-vectors.ts';

/** Rows of the index that are read before the other calls get their turn: one or two milliseconds. */
const ROWS_PER_TURN = 4_096;
/** A row with codes takes as long as this many rows without. */
const ROWS_A_CODE = 8;
const CODES_PER_TURN = ROWS_PER_TURN / ROWS_A_CODE;
/** A term costs as much as this many rows, even without any. */
const ROWS_A_TERM = 128;
/** Rows of all terms together. */
const ROWS_MAX = 32_768;
/** A row takes as long as this many comparisons of a code. */
const CELLS_A_ROW = 16;
/**
 * The most codes of all terms for all places: with many words, of which each record has few, lexicons are read sooner.
 */
const CELLS_MAX = 262_144;
/** The most lengths that one statement reads: at most one row for each. */
const LENGTHS_PER_TURN = 1_024;
/** Bytes of a place with its length, and of a code; a row number in a list takes as much as a place. */
const PLACE_BYTES = 12;
const CODE_BYTES = 4;
const ROW_BYTES = 8;
/** Lexicons that one statement reads. */
const LEXICONS_PER_TURN = 64;

/** One row for all records takes less time than a row for each. */
const selectHolders = `SELECT json_group_array(record) AS records FROM (
  SELECT rowid AS record FROM search_terms WHERE search_terms MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?)`;

const selectCodes = `SELECT doc, term FROM search_tokens WHERE term >= ? AND term < ? LIMIT ? OFFSET ?`;

const selectLast = `SELECT json_group_array(record) AS records FROM (
  SELECT e.record FROM json_each(?) AS j CROSS JOIN search_entries AS e ON e.record = j.value
  ORDER BY e.order_key DESC LIMIT ?)`;

const selectEntries = `SELECT e.id, e.order_key, l.lexicon FROM json_each(?) AS j
  CROSS JOIN search_entries AS e ON e.record = j.value
  CROSS JOIN search_lexicons AS l ON l.record = j.value`;

/** Reads the word counts of one moment, in turns with the other calls of the process. */
export class CountsReader implements WordCountsReader {
  readonly #scope: Scope;
  readonly #read: Read;
  readonly #turn: () => Promise<void>;
  /** Rows that were read since the other calls had their turn. */
  #rows = 0;

  constructor(scope: Scope, read: Read, turn: () => Promise<void>) {
    this.#scope = scope;
    this.#read = read;
    this.#turn = turn;
  }

  async counts(request: WordCountsRequest): Promise<WordCounts | null> {
    const { terms, grow } = request;
    const group = await this.#read((connection) => groupNumber(connection, this.#scope, request));
    const tokens = group === undefined ? [] : terms.map((term) => tokenOf(group, term));
    const held = await this.#lists(tokens, request);
    if (held === null) return null;
    const { lists, places } = held;
    grow?.(places.length * (PLACE_BYTES + CODE_BYTES * terms.length));
    const lengths = await this.#lengths(places);
    if (lengths === null) return null;
    const codes: Int32Array[] = [];
    for (const [index, term] of terms.entries()) {
      const usual = usualCodes(places, lists[index] ?? []);
      codes.push(usual);
      await this.#pass(places.length / CELLS_A_ROW);
      if (group !== undefined) await this.#addCodes(codeTokens(group, term), places, usual);
    }
    return { places, lengths, codes };
  }

  /** The lists of the tokens and all their numbers, each once; `null` where they are too many. */
  async #lists(
    tokens: readonly string[],
    { max, unitedMax = ROWS_MAX, grow }: WordCountsRequest,
  ): Promise<{ readonly lists: readonly (readonly number[])[]; readonly places: Float64Array } | null> {
    const placesMax = Math.min(unitedMax, Math.floor(CELLS_MAX / tokens.length));
    const lists: (readonly number[])[] = [];
    let places = new Float64Array();
    let rows = 0;
    for (const token of tokens) {
      const holders = await this.#holdersOf(token, max);
      if (holders === null) return null;
      rows += holders.length;
      if (rows > ROWS_MAX) return null;
      grow?.(holders.length * ROW_BYTES);
      lists.push(holders);
      places = merged(places, holders);
      if (places.length > placesMax) return null;
      await this.#pass(places.length / CELLS_A_ROW);
    }
    return { lists, places };
  }

  async #lengths(places: Float64Array): Promise<Uint32Array | null> {
    const lengths = new Uint32Array(places.length);
    for (let from = 0; from < places.length; from += LENGTHS_PER_TURN) {
      const some = places.subarray(from, from + LENGTHS_PER_TURN);
      const read = await this.#read((connection) => readLengths(connection, some));
      if (read === null) return null;
      lengths.set(read, from);
      await this.#pass(some.length);
    }
    return lengths;
  }

  async entries(places: readonly number[]): Promise<readonly FoundEntry[]> {
    const entries: FoundEntry[] = [];
    for (let from = 0; from < places.length; from += LEXICONS_PER_TURN) {
      if (from > 0) await this.#turn();
      const asked = JSON.stringify(places.slice(from, from + LEXICONS_PER_TURN));
      const rows = await this.#read((connection) => connection.tuples<EntryRow>(selectEntries, asked));
      for (const [id, orderKey, lexicon] of rows) entries.push({ id, orderKey, lexicon });
    }
    return entries;
  }

  async holders({ term, max, ...place }: HoldersRequest): Promise<readonly number[] | null> {
    const group = await this.#read((connection) => groupNumber(connection, this.#scope, place));
    return group === undefined ? [] : await this.#holdersOf(tokenOf(group, term), max);
  }

  behind(places: readonly number[], count: number): Promise<readonly number[]> {
    const asked = JSON.stringify(places);
    return this.#read((connection) => {
      // A sort that keeps the few last ones takes a third of the time of one that keeps all.
      const found = connection.get<{ records: string }>(selectLast, asked, places.length - count);
      return JSON.parse(found?.records ?? '[]') as number[];
    });
  }

  /** The row numbers of the records that hold a token, upwards; `null` where they are more than `max`. */
  async #holdersOf(token: string, max: number): Promise<readonly number[] | null> {
    let holders: readonly number[] = [];
    for (let after = 0; ; ) {
      const limit = Math.min(ROWS_PER_TURN, max + 1 - holders.length);
      const found = await this.#read((connection) => holdersIn(connection, token, after, limit));
      await this.#pass(ROWS_A_TERM + found.length);
      holders = holders.length === 0 ? found : [...holders, ...found];
      if (holders.length > max) return null;
      if (found.length < limit) return holders;
      after = found.at(-1)!;
    }
  }

  async #addCodes(
    [from, to]: readonly [string, string],
    places: Float64Array,
    codes: Int32Array,
  ): Promise<void> {
    for (let offset = 0; ; ) {
      const rows = await this.#read((connection) =>
        connection.tuples<readonly [number, string]>(selectCodes, from, to, CODES_PER_TURN, offset),
      );
      await this.#pass(ROWS_A_TERM + rows.length * ROWS_A_CODE);
      for (const [record, token] of rows) {
        const at = placeOf(places, record);
        if (at >= 0) codes[at] = codeIn(token);
      }
      if (rows.length < CODES_PER_TURN) return;
      offset += rows.length;
    }
  }

  /** Lets the other calls work once enough rows were read. */
  async #pass(rows: number): Promise<void> {
    this.#rows += rows;
    if (this.#rows < ROWS_PER_TURN) return;
    this.#rows = 0;
    await this.#turn();
  }
}

type EntryRow = readonly [id: string, orderKey: string, lexicon: string];

function holdersIn(connection: Connection, token: string, after: number, limit: number): readonly number[] {
  // Quoted, so that no token reads as an operator. Tokens hold no quotes.
  const found = connection.get<{ records: string }>(selectHolders, `"${token}"`, after, limit);
  return JSON.parse(found?.records ?? '[]') as number[];
}

/** The numbers of two ascending lists, each once, upwards. */
function merged(one: Float64Array, other: readonly number[]): Float64Array<ArrayBuffer> {
  const all = new Float64Array(one.length + other.length);
  let [left, right, count] = [0, 0, 0];
  for (; left < one.length && right < other.length; count += 1) {
    const first = one[left]!;
    const second = other[right]!;
    all[count] = first < second ? first : second;
    if (first <= second) left += 1;
    if (second <= first) right += 1;
  }
  for (; left < one.length; left += 1, count += 1) all[count] = one[left]!;
  for (; right < other.length; right += 1, count += 1) all[count] = other[right]!;
  return all.slice(0, count);
}

/** The codes of a term that stands once in each record of the list. */
function usualCodes(places: Float64Array, list: readonly number[]): Int32Array {
  const codes = new Int32Array(places.length).fill(-1);
  let at = 0;
  for (const record of list) {
    while (places[at]! < record) at += 1;
    codes[at] = USUAL_WORD_CODE;
  }
  return codes;
}

/** -1: not among them. */
function placeOf(places: Float64Array, record: number): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]! < record) low = middle + 1;
    else high = middle;
  }
  return places[low] === record ? low : -1;
}
