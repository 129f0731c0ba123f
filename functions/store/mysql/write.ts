import type { Listing, RecordData, RecordKey, Write } from '../port.ts';
import { listingOf, nameOf, type RecordRow } from './rows.ts';
import { type Statement, statement, type Value } from './statement.ts';

/** A statement of many rows ends at about this many characters, and another one follows. */
const statementCharacters = 768 * 1024;
const rowsPerStatement = 500;

/**
 * The statements of the writes over the stored state. All deletions come first, so that a record may reuse the list
 * position or the parts of a deleted one.
 */
export function writesOf(
  space: number,
  writes: readonly Write[],
  stored: ReadonlyMap<string, RecordRow>,
): Statement[] {
  const removals: Statement[] = [];
  const updates: Statement[] = [];
  const created: RecordData[] = [];
  const entries: EntryRow[] = [];
  for (const write of writes) {
    const row = stored.get(nameOf('put' in write ? write.put.key : write.remove));
    if ('remove' in write) {
      if (row !== undefined) removals.push(...removeRecord(space, row));
    } else if (row === undefined) {
      created.push(write.put);
    } else {
      const changed = changedEntries(space, row, write.put);
      removals.push(...changed.removals);
      entries.push(...changed.added);
      updates.push(updateRecord(space, row, write.put));
    }
  }
  return [...removals, ...updates, ...insertEntries(space, entries), ...insertRecords(space, created)];
}

export function insertRecords(space: number, records: readonly RecordData[]): Statement[] {
  const entries = records.flatMap(({ key, listing }) =>
    entriesOf(listing ?? null).map(([name, value]) => ({ key, listing: listing ?? null, name, value })),
  );
  return [
    ...insertRows(
      `INSERT INTO {records} (space, collection, id, due, listing_group, listing_id, hidden, body_bytes, parts,
        part_bytes, head, indexes, body) VALUES`,
      records.map((record) => recordRow(space, record)),
    ),
    ...insertEntries(space, entries),
    ...insertRows(
      `INSERT INTO {parts} (space, filed_under, part_order, collection, id, position, body_bytes, body) VALUES`,
      records.flatMap((record) => partRows(space, record)),
    ),
  ];
}

function recordRow(space: number, { key, head, body, listing, due, parts = [] }: RecordData): Value[] {
  const [group, id, hidden, indexes] = listingColumns(listing ?? null);
  const partBytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part.body), 0);
  const sizes = [Buffer.byteLength(body ?? ''), parts.length, partBytes];
  const place: Value[] = [space, key.collection, key.id, due ?? null, group, id, hidden];
  return [...place, ...sizes, JSON.stringify(head), indexes, body ?? null];
}

function partRows(space: number, { key, parts = [] }: RecordData): Value[][] {
  return parts.map(({ of, order, body }, position) => [
    space,
    of,
    order,
    key.collection,
    key.id,
    position,
    Buffer.byteLength(body),
    body,
  ]);
}

/** The update names changed columns alone, so that the server does not touch the indexes on the others. */
function updateRecord(space: number, row: RecordRow, record: RecordData): Statement {
  const changes: [string, Value][] = [
    ['head', JSON.stringify(record.head)],
    ['due', record.due ?? null],
  ];
  if (record.listing !== undefined) {
    const [group, id, hidden, indexes] = listingColumns(record.listing);
    changes.push(['listing_group', group], ['listing_id', id], ['hidden', hidden], ['indexes', indexes]);
  }
  if (record.body !== undefined) {
    changes.push(['body', record.body], ['body_bytes', Buffer.byteLength(record.body ?? '')]);
  }
  const assignments = changes.map(([name]) => `${name} = ?`).join(', ');
  return statement(
    `UPDATE {records} SET ${assignments} WHERE ${byKey}`,
    ...changes.map(([, value]) => value),
    ...keyValues(space, row),
  );
}

function removeRecord(space: number, row: RecordRow): Statement[] {
  const remove = (table: string) =>
    statement(`DELETE FROM {${table}} WHERE ${byKey}`, ...keyValues(space, row));
  return [
    remove('records'),
    ...(entriesOf(listingOf(row)).length === 0 ? [] : [remove('entries')]),
    ...(row.parts === 0 ? [] : [remove('parts')]),
  ];
}

const byKey = 'space = ? AND collection = ? AND id = ?';

function keyValues(space: number, { collection, id }: RecordKey): [number, string, string] {
  return [space, collection, id];
}

function listingColumns(listing: Listing | null): [string | null, string, number, string | null] {
  if (listing === null) return [null, '', 0, null];
  return [listing.group, listing.id, listing.hidden ? 1 : 0, JSON.stringify(listing.indexes)];
}

interface EntryRow {
  readonly key: RecordKey;
  readonly listing: Listing | null;
  readonly name: string;
  readonly value: string;
}

/** Hidden records have no index entries, even where their listing names some. */
function entriesOf(listing: Listing | null): [string, string][] {
  return listing === null || listing.hidden ? [] : Object.entries(listing.indexes);
}

function changedEntries(space: number, row: RecordRow, record: RecordData) {
  if (record.listing === undefined) return { removals: [], added: [] };
  const { key, listing } = record;
  const before = listingOf(row);
  const samePlace = before?.group === listing?.group && before?.id === listing?.id;
  const kept = new Map(samePlace ? entriesOf(listing) : []);
  const old = new Map(entriesOf(before));
  const removed = [...old].filter(([name, value]) => kept.get(name) !== value).map(([name]) => name);
  const added = entriesOf(listing)
    .filter(([name, value]) => !samePlace || old.get(name) !== value)
    .map(([name, value]) => ({ key, listing, name, value }));
  if (removed.length === 0) return { removals: [], added };
  const names = removed.map(() => '?').join(', ');
  const sql = `DELETE FROM {entries} WHERE ${byKey} AND name IN (${names})`;
  return { removals: [statement(sql, ...keyValues(space, row), ...removed)], added };
}

function insertEntries(space: number, entries: readonly EntryRow[]): Statement[] {
  return insertRows(
    'INSERT INTO {entries} (space, collection, id, name, value, listing_group, listing_id) VALUES',
    entries.map(({ key, listing, name, value }) => [
      ...keyValues(space, key),
      name,
      value,
      listing?.group ?? '',
      listing?.id ?? '',
    ]),
  );
}

/** `behind` stands after the rows; `marks` is one row of them, where not every column is a mark. */
export function insertRows(
  text: string,
  rows: readonly (readonly Value[])[],
  behind = '',
  marks?: string,
): Statement[] {
  const statements: Statement[] = [];
  const insertOf = (some: readonly (readonly Value[])[]): Statement => {
    const places = some.map((row) => marks ?? `(${row.map(() => '?').join(', ')})`).join(', ');
    return statement(`${text} ${places} ${behind}`.trimEnd(), ...some.flat());
  };
  let some: (readonly Value[])[] = [];
  let characters = 0;
  for (const row of rows) {
    const size = row.reduce((sum: number, value) => sum + charactersOf(value), 0);
    if (some.length === rowsPerStatement || (some.length > 0 && characters + size > statementCharacters)) {
      statements.push(insertOf(some));
      [some, characters] = [[], 0];
    }
    some.push(row);
    characters += size;
  }
  if (some.length > 0) statements.push(insertOf(some));
  return statements;
}

function charactersOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  return Buffer.isBuffer(value) ? 2 * value.length : 8;
}
