import { type DuePlace, duePage, dueRange } from '../due.ts';
import type { Collection, DueRequest, RecordPage, Scope } from '../port.ts';
import { type Connection } from './connection.ts';
import { columns, liveSpace, type RecordRow, recordOf } from './rows.ts';
import { statement } from './statement.ts';

/** The due records `r` of the scope `$1`, `$2` and the collection `$3` until `$4`. */
export const due = `FROM records AS r WHERE r.space = ${liveSpace} AND r.collection = $3 AND r.due <= $4`;
export const afterPlace = 'AND (r.due, r.listing_id, r.id) > ($5, $6, $7)';
export const inOrder = 'ORDER BY r.due, r.listing_id, r.id';
export const selectDue = `SELECT ${columns}, r.body ${due} ${afterPlace} ${inOrder} LIMIT $8`;

/** Before the place of every record. */
export const firstDue: DuePlace<string> = [Number.MIN_SAFE_INTEGER, '', ''];

export function placeOf({ due: time, listing_id, id }: RecordRow): DuePlace<string> {
  return [Number(time ?? 0), listing_id, id];
}

export async function readDue(
  connection: Connection,
  { kind, name }: Scope,
  collection: Collection,
  request: DueRequest,
): Promise<RecordPage> {
  const range = dueRange<string>(request, 'string');
  const { until, after = firstDue, size } = range;
  if (size === 0) return { records: [], next: null };
  const reading = statement<RecordRow>(selectDue, kind, name, collection.name, until, ...after, size);
  const [rows] = await connection.send(reading);
  return duePage(rows, range, (row) => recordOf(row, 'body'), placeOf);
}
