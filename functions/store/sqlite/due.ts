import { type DuePlace, type DueRange, duePage, dueRange } from '../due.ts';
import type { Collection, DueRequest, RecordPage, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { columns, type RecordRow, recordOf } from './rows.ts';
import { liveSpace } from './space.ts';

const selectDue = `SELECT ${columns} FROM records
  WHERE space = ? AND collection = ? AND due IS NOT NULL AND due <= ? AND (due, listing_id, record) > (?, ?, ?)
  ORDER BY due, listing_id, record LIMIT ?`;

/** Before the place of every record. */
export const firstDue: DuePlace<number> = [Number.MIN_SAFE_INTEGER, '', 0];

export function dueRows(
  connection: Connection,
  space: number,
  collection: Collection,
  { until, after = firstDue, size }: DueRange<number>,
): RecordRow[] {
  return connection.all<RecordRow>(selectDue, space, collection.name, until, ...after, size);
}

export function readDue(
  connection: Connection,
  scope: Scope,
  collection: Collection,
  request: DueRequest,
): RecordPage {
  const range = dueRange<number>(request, 'number');
  const space = liveSpace(connection, scope);
  if (space === undefined || range.size === 0) return { records: [], next: null };
  return duePage(
    dueRows(connection, space, collection, range),
    range,
    (row) => recordOf(connection, space, row, 'body'),
    (row) => [row.due ?? 0, row.listing_id, row.record],
  );
}
