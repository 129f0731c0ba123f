import { parseJson } from '../../kernel/json-text.ts';
import { bytesOf } from '../nearest/float-bytes.ts';
import type { RecordData } from '../port.ts';
import type { SearchEntry } from '../search.ts';
import type { Connection } from './connection.ts';
import { LengthWrites } from './search-lengths.ts';
import { SlotWrites } from './search-slots.ts';
import { tokensOf } from './search-tokens.ts';

/**
 * Pages of the term index that a transaction merges: a fixed number, and more for each record, which keeps up with the
 * additions. Small transactions leave the merge to a later one, because a merge of few pages costs as much as one of
 * many.
 */
const mergedPages = { perTransaction: 8, perRecord: 2, together: 80 };

interface EntryRow {
  readonly search_group: number;
  readonly id: string;
  readonly order_key: string;
  readonly vectors: string | null;
}

/** The rows of a record's vectors, by the number of their slot. */
type VectorPlaces = Readonly<Record<string, number>>;

/**
 * Writes the search tables within one transaction. `finish` ends it: slots and groups are written once, for any number
 * of records.
 */
export class SearchWrites {
  readonly #connection: Connection;
  readonly #space: number;
  readonly #slots: SlotWrites;
  readonly #lengths: LengthWrites;
  readonly #groups = new Map<string, number>();
  #written = 0;
  /** Groups with removed records. */
  readonly #left = new Set<number>();

  constructor(connection: Connection, space: number) {
    this.#connection = connection;
    this.#space = space;
    this.#slots = new SlotWrites(connection);
    this.#lengths = new LengthWrites(connection);
  }

  /** Writes the entry of a record that is written; `row` is the record's number. */
  put(row: number, { key, search }: RecordData): void {
    if (search === undefined) return;
    const before = this.#entryOf(row);
    if (search === null) {
      if (before !== undefined) this.#remove(row, before);
      return;
    }
    const group = this.#groupOf(key.collection, search.group);
    // A release without searches may have deleted a record, whose number another record then gets.
    const stays = before?.search_group === group && before.id === key.id;
    if (before !== undefined && !stays) this.#remove(row, before);
    this.#insert(row, key.id, { group, search, before: stays ? before : undefined });
  }

  remove(row: number): void {
    const before = this.#entryOf(row);
    if (before !== undefined) this.#remove(row, before);
  }

  finish(): void {
    this.#slots.finish();
    this.#lengths.finish();
    if (this.#written > 0) this.#merge();
    for (const group of this.#left) {
      const sql = 'SELECT 1 FROM search_entries WHERE search_group = ? LIMIT 1';
      if (this.#connection.get(sql, group) === undefined) dropGroup(this.#connection, group);
    }
    if (this.#left.size > 0) forgetTerms(this.#connection);
  }

  #merge(): void {
    const connection = this.#connection;
    // The unmerged pages of an earlier process are unknown, so the merge starts at once.
    connection.unmergedPages ??= mergedPages.together;
    connection.unmergedPages += mergedPages.perTransaction + this.#written * mergedPages.perRecord;
    if (connection.unmergedPages < mergedPages.together) return;
    const merge = `INSERT INTO search_terms (search_terms, rank) VALUES ('merge', ?)`;
    connection.run(merge, connection.unmergedPages);
    connection.unmergedPages = 0;
  }

  #insert(
    row: number,
    id: string,
    { group, search, before }: { group: number; search: SearchEntry; before: EntryRow | undefined },
  ): void {
    const connection = this.#connection;
    const terms = tokensOf(group, search.terms, search.wordCounts);
    if (before !== undefined) connection.run(deleteTerms, row);
    connection.run('INSERT INTO search_terms (rowid, terms) VALUES (?, ?)', row, terms);
    connection.run('REPLACE INTO search_lexicons (record, lexicon) VALUES (?, ?)', row, search.lexicon);
    this.#lengths.set(row, search.wordCounts?.length);
    this.#written += 1;
    connection.written += terms.length + search.lexicon.length;
    const vectors = this.#vectorsOf(id, group, search, placesOf(before));
    const { orderKey } = search;
    if (before === undefined) connection.run(insertEntry, row, group, id, orderKey, vectors);
    else if (vectors !== before.vectors || orderKey !== before.order_key)
      connection.run(updateEntry, orderKey, vectors, row);
  }

  /** Writes the vectors and removes those that the entry before had beside them; answers the places of all. */
  #vectorsOf(id: string, group: number, { vectors }: SearchEntry, before: VectorPlaces): string | null {
    const places: Record<string, number> = {};
    for (const { slot: name, values } of vectors) {
      const slot = this.#slots.named(group, name);
      const place = before[slot.number];
      const bytes = bytesOf(values);
      places[slot.number] =
        place === undefined ? this.#slots.insert(slot, id, bytes) : this.#slots.update(slot, place, bytes);
    }
    for (const [slot, place] of Object.entries(before)) {
      if (places[slot] === undefined) this.#slots.remove(Number(slot), place);
    }
    return vectors.length === 0 ? null : JSON.stringify(places);
  }

  #remove(row: number, before: EntryRow): void {
    for (const [slot, place] of Object.entries(placesOf(before))) this.#slots.remove(Number(slot), place);
    deleteEntry(this.#connection, row);
    this.#left.add(before.search_group);
  }

  #entryOf(row: number): EntryRow | undefined {
    return this.#connection.get(selectEntry, row);
  }

  #groupOf(collection: string, name: string): number {
    const known = this.#groups.get(`${collection}/${name}`);
    if (known !== undefined) return known;
    const place = [this.#space, collection, name] as const;
    const number =
      this.#connection.get<{ number: number }>(selectGroup, ...place)?.number ??
      this.#connection.run('INSERT INTO search_groups (space, collection, name) VALUES (?, ?, ?)', ...place)
        .rowid;
    this.#groups.set(`${collection}/${name}`, number);
    return number;
  }
}

export const selectGroup = 'SELECT number FROM search_groups WHERE space = ? AND collection = ? AND name = ?';
const selectEntry = 'SELECT search_group, id, order_key, vectors FROM search_entries WHERE record = ?';
const insertEntry =
  'INSERT INTO search_entries (record, search_group, id, order_key, vectors) VALUES (?, ?, ?, ?, ?)';
const updateEntry = 'UPDATE search_entries SET order_key = ?, vectors = ? WHERE record = ?';
const deleteTerms = 'DELETE FROM search_terms WHERE rowid = ?';

/** Without the vectors. */
function deleteEntry(connection: Connection, row: number): void {
  connection.run(deleteTerms, row);
  connection.run('DELETE FROM search_lexicons WHERE record = ?', row);
  connection.run('DELETE FROM search_entries WHERE record = ?', row);
}

/** A group without entries holds tombstones alone, whose number is bounded. */
function dropGroup(connection: Connection, group: number): void {
  const vectors = `DELETE FROM search_vectors WHERE slot IN (SELECT number FROM search_slots WHERE search_group = ?)`;
  connection.run(vectors, group);
  connection.run('DELETE FROM search_slots WHERE search_group = ?', group);
  connection.run('DELETE FROM search_groups WHERE number = ?', group);
}

/**
 * Deletes at most `rows` of the entries, and of the vectors, of a space that is not live; false when none were left.
 */
export function sweepSearches(connection: Connection, space: number, rows: number): boolean {
  const group = connection.get<{ number: number }>(
    'SELECT number FROM search_groups WHERE space = ? LIMIT 1',
    space,
  )?.number;
  if (group === undefined) return false;
  const entries = 'SELECT record FROM search_entries WHERE search_group = ? LIMIT ?';
  const found = connection.all<{ record: number }>(entries, group, rows);
  for (const { record } of found) deleteEntry(connection, record);
  const vectors = `DELETE FROM search_vectors WHERE vector IN (
    SELECT v.vector FROM search_slots AS s CROSS JOIN search_vectors AS v ON v.slot = s.number
    WHERE s.search_group = ? LIMIT ?)`;
  const { changes } = connection.run(vectors, group, rows);
  if (found.length === rows || changes === rows) return true;
  dropGroup(connection, group);
  forgetTerms(connection);
  return true;
}

/** Deleted terms stay in the index until a merge removes them; without records, all of them are removed. */
function forgetTerms(connection: Connection): void {
  const isEmpty = connection.get('SELECT 1 FROM search_entries LIMIT 1') === undefined;
  if (!isEmpty) return;
  connection.run(`INSERT INTO search_terms (search_terms) VALUES ('delete-all')`);
  connection.run('DELETE FROM search_lengths');
}

/** A space that a release without searches has swept. */
export function sweptSpace(connection: Connection): number | undefined {
  const sql = 'SELECT space FROM search_groups WHERE space NOT IN (SELECT space FROM spaces) LIMIT 1';
  return connection.get<{ space: number }>(sql)?.space;
}

function placesOf(entry: EntryRow | undefined): VectorPlaces {
  return entry === undefined || entry.vectors === null ? {} : (parseJson(entry.vectors) as VectorPlaces);
}
