import type { Connection } from './connection.ts';

/** Records of one row: a search reads the rows of all its candidates, and a write one row again. */
const CHUNK_RECORDS = 256;
/** 0: the number of words is unknown. */
const LENGTH_MAX = 0xffff - 1;

/** The numbers of words that one transaction writes. */
export class LengthWrites {
  readonly #connection: Connection;
  readonly #chunks = new Map<number, Uint8Array>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** `undefined`: not known. Each record with an entry is set, since another one had its row number before. */
  set(record: number, length: number | undefined): void {
    const stored = length === undefined || length > LENGTH_MAX - 1 ? 0 : length + 1;
    const at = 2 * (record % CHUNK_RECORDS);
    const chunk = this.#chunkOf(Math.floor(record / CHUNK_RECORDS));
    chunk[at] = stored & 0xff;
    chunk[at + 1] = stored >> 8;
  }

  finish(): void {
    for (const [chunk, words] of this.#chunks)
      this.#connection.run('REPLACE INTO search_lengths (chunk, words) VALUES (?, ?)', chunk, words);
  }

  #chunkOf(number: number): Uint8Array {
    const known = this.#chunks.get(number);
    if (known !== undefined) return known;
    const find = 'SELECT words FROM search_lengths WHERE chunk = ?';
    const words =
      this.#connection.get<{ words: Uint8Array }>(find, number)?.words ?? new Uint8Array(2 * CHUNK_RECORDS);
    this.#chunks.set(number, words);
    return words;
  }
}

const selectChunks = `SELECT l.chunk, l.words FROM json_each(?) AS j CROSS JOIN search_lengths AS l ON l.chunk = j.value`;

/** The numbers of words of records, which ascend; `null` where one is not known. */
export function readLengths(connection: Connection, records: Float64Array): Uint32Array | null {
  const numbers: number[] = [];
  for (const record of records) {
    const chunk = Math.floor(record / CHUNK_RECORDS);
    if (numbers.at(-1) !== chunk) numbers.push(chunk);
  }
  const rows = connection.tuples<readonly [number, Uint8Array]>(selectChunks, JSON.stringify(numbers));
  const chunks = new Map(rows);
  const lengths = new Uint32Array(records.length);
  for (const [index, record] of records.entries()) {
    const words = chunks.get(Math.floor(record / CHUNK_RECORDS));
    const at = 2 * (record % CHUNK_RECORDS);
    const stored = words === undefined ? 0 : words[at]! | (words[at + 1]! << 8);
    if (stored === 0) return null;
    lengths[index] = stored - 1;
  }
  return lengths;
}
