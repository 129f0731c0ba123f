import { parseJson } from '../../kernel/json-text.ts';
import type { Head, KeyRequest, Listing, Part, RecordData, RecordKey, RecordView } from '../port.ts';
import { StoreError } from '../port.ts';

/** A stored record; `body` only when it was requested. */
export interface RecordRow {
  readonly collection: string;
  readonly id: string;
  readonly due: number | null;
  readonly listing_group: string | null;
  readonly listing_id: string;
  readonly hidden: number;
  readonly body_bytes: number;
  readonly parts: number;
  readonly part_bytes: number;
  readonly head: string;
  readonly indexes: string | null;
  readonly body?: string | null;
}

/** A part with the record that brought it. */
export interface PartRow {
  readonly collection: string;
  readonly id: string;
  readonly filed_under: string;
  readonly part_order: string;
  readonly body: string;
}

/** The columns of the record `r` that every view needs. */
export const smallColumns = `r.collection, r.id, r.due, r.listing_group, r.listing_id, r.hidden, r.body_bytes, r.parts,
  r.part_bytes, r.head, r.indexes`;
export const columns = `${smallColumns}, r.body`;

/**
 * The record as the port shows it. A head view leaves body and listing out rather than null, so that writing it back
 * keeps them; `due` is in every view, because a write without it would make the record never due.
 */
export function recordOf(row: RecordRow, view: RecordView, parts: readonly PartRow[] = []): RecordData {
  const key = { collection: row.collection, id: row.id };
  const small = { key, head: parseJson(row.head) as Head, due: row.due };
  if (view === 'head') return small;
  const record = { ...small, body: row.body ?? null, listing: listingOf(row) };
  return view === 'body' ? record : { ...record, parts: partsOf(row, parts) };
}

export function listingOf(row: RecordRow): Listing | null {
  if (row.listing_group === null) return null;
  const indexes = parseJson(row.indexes ?? '{}') as Record<string, string>;
  return { group: row.listing_group, id: row.listing_id, hidden: row.hidden === 1, indexes };
}

function partsOf({ collection, id, parts }: RecordRow, rows: readonly PartRow[]): Part[] {
  if (rows.length !== parts) {
    throw new StoreError('corrupt', `${collection}/${id} has ${parts} parts, but ${rows.length} are stored`);
  }
  return rows.map(({ filed_under: of, part_order: order, body }) => ({ of, order, body }));
}

export function nameOf({ collection, id }: RecordKey): string {
  return `${collection}/${id}`;
}

const width: Readonly<Record<RecordView, number>> = { head: 0, body: 1, parts: 2 };

/** Each key once, by its name: one asked for twice is read with the wider of its views. */
export function widestViews(keys: readonly KeyRequest[]): Map<string, { key: RecordKey; view: RecordView }> {
  const asked = new Map<string, { key: RecordKey; view: RecordView }>();
  for (const { key, view = 'head' } of keys) {
    const before = asked.get(nameOf(key));
    if (before === undefined || width[before.view] < width[view]) asked.set(nameOf(key), { key, view });
  }
  return asked;
}
