import { parseJson } from '../../kernel/json-text.ts';
import type { Head, Listing, Part, RecordData, RecordKey, RecordView } from '../port.ts';
import type { Connection } from './connection.ts';

/** A stored record; `body` only when it was selected. */
export interface RecordRow {
  readonly record: number;
  readonly collection: string;
  readonly id: string;
  readonly head: string;
  readonly listing_group: string | null;
  readonly listing_id: string;
  readonly hidden: number;
  readonly indexes: string | null;
  readonly due: number | null;
  readonly parts: string | null;
  readonly body?: string | null;
}

const smallColumns = 'record, collection, id, head, listing_group, listing_id, hidden, indexes, due, parts';
export const columns = `${smallColumns}, body`;

export function columnsOf(view: RecordView): string {
  return view === 'head' ? smallColumns : columns;
}

const byKey = 'FROM records WHERE space = ? AND collection = ? AND id = ?';

export function findRow(
  connection: Connection,
  space: number,
  key: RecordKey,
  view: RecordView,
): RecordRow | undefined {
  return connection.get(`SELECT ${columnsOf(view)} ${byKey}`, space, key.collection, key.id);
}

/**
 * The record as the port shows it. A head view leaves body and listing out rather than null, so that writing it back
 * keeps them; `due` is in every view, because a write without it would make the record never due.
 */
export function recordOf(
  connection: Connection,
  space: number,
  row: RecordRow,
  view: RecordView,
): RecordData {
  const key = { collection: row.collection, id: row.id };
  const small = { key, head: parseJson(row.head) as Head, due: row.due };
  if (view === 'head') return small;
  const record = { ...small, body: row.body ?? null, listing: listingOf(row) };
  return view === 'body' ? record : { ...record, parts: partsOf(connection, space, row) };
}

export function listingOf(row: RecordRow): Listing | null {
  if (row.listing_group === null) return null;
  const indexes = parseJson(row.indexes ?? '{}') as Record<string, string>;
  return { group: row.listing_group, id: row.listing_id, hidden: row.hidden === 1, indexes };
}

/** The places of a record's parts, as `[of, order]`, in the order in which they were written. */
export function partPlaces(row: RecordRow): readonly (readonly [string, string])[] {
  return row.parts === null ? [] : (parseJson(row.parts) as [string, string][]);
}

function partsOf(connection: Connection, space: number, row: RecordRow): Part[] {
  const sql = 'SELECT body FROM parts WHERE space = ? AND filed_under = ? AND part_order = ?';
  return partPlaces(row).map(([of, order]) => {
    const part = connection.get<{ body: string }>(sql, space, of, order);
    return { of, order, body: part?.body ?? '' };
  });
}
