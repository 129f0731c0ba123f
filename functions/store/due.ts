import { cursorError, readCursor, writeCursor } from './cursor.ts';
import type { DueRequest, RecordData, RecordPage } from './port.ts';

/** A page holds no more records than this, because their bodies come with them. */
const pageRecordsMax = 128;

/** A due record's place in the order. `tie` separates records of one time and one listing id; each provider has its own. */
export type DuePlace<Tie extends string | number> = readonly [due: number, listingId: string, tie: Tie];

/** The range of due records that one SQL statement reads for a page. */
export interface DueRange<Tie extends string | number> {
  readonly until: number;
  readonly after: DuePlace<Tie> | undefined;
  readonly size: number;
}

export function dueSize({ limit }: DueRequest): number {
  return Math.max(0, Math.min(limit, pageRecordsMax));
}

/** The last moment that counts as due. Without `now` it is the last moment that a record can carry. */
export function dueUntil({ now }: DueRequest): number {
  return now ?? Number.MAX_SAFE_INTEGER;
}

export function dueRange<Tie extends string | number>(
  request: DueRequest,
  tie: Tie extends string ? 'string' : 'number',
): DueRange<Tie> {
  const after = request.after === undefined ? undefined : placeOf<Tie>(request.after, tie);
  return { until: dueUntil(request), after, size: dueSize(request) };
}

function placeOf<Tie extends string | number>(cursor: string, type: 'string' | 'number'): DuePlace<Tie> {
  const [due, listingId, tie, ...more] = readCursor(cursor);
  const valid = typeof due === 'number' && typeof listingId === 'string' && typeof tie === type;
  if (!valid || more.length > 0) throw cursorError();
  return [due, listingId, tie as Tie];
}

/** A full page has a `next`, even where nothing follows: one record more would cost its body. */
export function duePage<Row, Tie extends string | number>(
  rows: readonly Row[],
  { size }: DueRange<Tie>,
  recordOf: (row: Row) => RecordData,
  placeOfRow: (row: Row) => DuePlace<Tie>,
): RecordPage {
  const last = rows.at(-1);
  const next = last === undefined || rows.length < size ? null : writeCursor(placeOfRow(last));
  return { records: rows.map(recordOf), next };
}
