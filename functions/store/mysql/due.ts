import { type DuePlace, type DueRange, duePage, dueRange } from '../due.ts';
import type { Collection, DueRequest, RecordPage, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { columns, type RecordRow, recordOf } from './rows.ts';
import { IN_SCOPE, ofScope, type Statement, statement } from './statement.ts';

export function dueStatement(
  scope: Scope,
  collection: Collection,
  { until, after, size }: DueRange<string>,
): Statement<RecordRow> {
  const [due, listingId, id] = after ?? [0, '', ''];
  // The lower bound of `due` is repeated, so that the index search can start there.
  const place =
    after === undefined
      ? ''
      : `AND r.due >= ? AND (r.due > ? OR (r.due = ? AND (r.listing_id > ? OR (r.listing_id = ? AND r.id > ?))))`;
  const { text, values } = ofScope(scope);
  return statement(
    `SELECT ${columns} FROM ${IN_SCOPE} {records} AS r FORCE INDEX (records_by_due) ON r.space = s.space
      WHERE ${text} AND r.collection = ? AND r.due IS NOT NULL AND r.due <= ? ${place}
      ORDER BY r.due, r.listing_id, r.id LIMIT ?`,
    ...values,
    collection.name,
    until,
    ...(after === undefined ? [] : [due, due, due, listingId, listingId, id]),
    size,
  );
}

export function placeOf({ due, listing_id, id }: RecordRow): DuePlace<string> {
  return [due ?? 0, listing_id, id];
}

export async function readDue(
  connection: Connection,
  scope: Scope,
  collection: Collection,
  request: DueRequest,
): Promise<RecordPage> {
  const range = dueRange<string>(request, 'string');
  if (range.size === 0) return { records: [], next: null };
  const [{ rows }] = await connection.send(dueStatement(scope, collection, range));
  return duePage(rows, range, (row) => recordOf(row, 'body'), placeOf);
}
