import type { SQLInputValue } from 'node:sqlite';
import { entryName } from '../grouping.ts';
import type { Listing, Part, RecordData } from '../port.ts';
import type { Connection } from './connection.ts';
import { listingOf, partPlaces, type RecordRow } from './rows.ts';

/** Answers the number of the record's row. */
export function insertRecord(connection: Connection, space: number, record: RecordData): number {
  const listing = record.listing ?? null;
  const parts = record.parts ?? [];
  const sql = `INSERT INTO records
    (space, collection, id, head, listing_group, listing_id, hidden, indexes, due, parts, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const { rowid } = connection.run(
    sql,
    space,
    record.key.collection,
    record.key.id,
    JSON.stringify(record.head),
    ...listingColumns(listing),
    record.due ?? null,
    parts.length === 0 ? null : JSON.stringify(parts.map((part) => [part.of, part.order])),
    record.body ?? null,
  );
  connection.written += record.body?.length ?? 0;
  for (const part of parts) insertPart(connection, space, part);
  for (const [name, value] of entriesOf(listing)) {
    if (listing !== null) insertEntry(connection, { space, record, listing, rowid, name, value });
  }
  return rowid;
}

/** Only columns that change are named, because SQLite rewrites the entries of every index over a named column. */
export function updateRecord(
  connection: Connection,
  space: number,
  row: RecordRow,
  record: RecordData,
): void {
  const names = ['head'];
  const values: SQLInputValue[] = [JSON.stringify(record.head)];
  if (record.listing !== undefined) {
    const before = listingColumns(listingOf(row));
    const after = listingColumns(record.listing);
    const [group, id, hidden, indexes] = after;
    if (group !== before[0] || id !== before[1] || hidden !== before[2]) {
      names.push('listing_group', 'listing_id', 'hidden');
      values.push(group, id, hidden);
    }
    if (indexes !== before[3]) {
      names.push('indexes');
      values.push(indexes);
    }
    if (names.length > 1) replaceEntries(connection, space, row, record, record.listing);
  }
  if ((record.due ?? null) !== row.due) {
    names.push('due');
    values.push(record.due ?? null);
  }
  if (record.body !== undefined) {
    names.push('body');
    values.push(record.body);
    connection.written += record.body?.length ?? 0;
  }
  const assignments = names.map((name) => `${name} = ?`).join(', ');
  connection.run(`UPDATE records SET ${assignments} WHERE record = ?`, ...values, row.record);
}

export function removeRecord(connection: Connection, space: number, row: RecordRow): void {
  for (const [of, order] of partPlaces(row)) {
    connection.run(
      'DELETE FROM parts WHERE space = ? AND filed_under = ? AND part_order = ?',
      space,
      of,
      order,
    );
  }
  const listing = listingOf(row);
  for (const [name, value] of entriesOf(listing)) deleteEntry(connection, space, row, name, value);
  connection.run('DELETE FROM records WHERE record = ?', row.record);
}

function insertPart(connection: Connection, space: number, part: Part): void {
  const sql = 'INSERT INTO parts (space, filed_under, part_order, body) VALUES (?, ?, ?, ?)';
  connection.run(sql, space, part.of, part.order, part.body);
  connection.written += part.body.length;
}

function listingColumns(listing: Listing | null): [string | null, string, number, string | null] {
  if (listing === null) return [null, '', 0, null];
  return [listing.group, listing.id, listing.hidden ? 1 : 0, JSON.stringify(listing.indexes)];
}

/** Hidden records have no index entries, even where their listing names some. */
function entriesOf(listing: Listing | null): [string, string][] {
  return listing === null || listing.hidden ? [] : Object.entries(listing.indexes);
}

function replaceEntries(
  connection: Connection,
  space: number,
  row: RecordRow,
  record: RecordData,
  listing: Listing | null,
): void {
  const before = listingOf(row);
  const samePlace = before?.group === listing?.group && before?.id === listing?.id;
  const kept = new Map(samePlace ? entriesOf(listing) : []);
  const old = new Map(entriesOf(before));
  for (const [name, value] of old) {
    if (kept.get(name) !== value) deleteEntry(connection, space, row, name, value);
  }
  for (const [name, value] of entriesOf(listing)) {
    if (listing === null || (samePlace && old.get(name) === value)) continue;
    insertEntry(connection, { space, record, listing, rowid: row.record, name, value });
  }
}

interface Entry {
  readonly space: number;
  readonly record: RecordData;
  readonly listing: Listing;
  readonly rowid: number;
  readonly name: string;
  readonly value: string;
}

function insertEntry(connection: Connection, entry: Entry): void {
  const sql = `INSERT INTO entries (space, collection, name, value, listing_group, listing_id, record, paired)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  const { listing } = entry;
  const { collection } = entry.record.key;
  const name = entryName(connection.grouped(collection), listing.group, entry.name);
  const place: SQLInputValue[] = [entry.space, collection, name, entry.value];
  const paired = connection.paired(collection) ? 1 : 0;
  connection.run(sql, ...place, listing.group, listing.id, entry.rowid, paired);
  connection.written += entry.value.length;
}

function deleteEntry(
  connection: Connection,
  space: number,
  row: RecordRow,
  name: string,
  value: string,
): void {
  const sql = `DELETE FROM entries
    WHERE space = ? AND collection = ? AND name = ? AND value = ? AND listing_group = ? AND listing_id = ?`;
  const group = row.listing_group ?? '';
  const entry = entryName(connection.grouped(row.collection), group, name);
  connection.run(sql, space, row.collection, entry, value, group, row.listing_id);
}
