import { parseJson } from '../../kernel/json-text.ts';
import {
  type Head,
  type KeyRequest,
  type Listing,
  type Part,
  type RecordData,
  type RecordKey,
  type RecordView,
  StoreError,
} from '../port.ts';

/**
 * A stored record; `body` and `part_bodies` only when they were requested. The driver returns 64-bit numbers as text.
 */
export interface RecordRow {
  readonly space: string;
  readonly collection: string;
  readonly id: string;
  readonly head: string;
  readonly listing_group: string | null;
  readonly listing_id: string;
  readonly hidden: boolean;
  readonly indexes: string | null;
  readonly due: string | null;
  readonly parts: string | null;
  readonly body?: string | null;
  readonly part_bodies?: readonly string[] | null;
}

/** The columns of the record `r` that every view needs. */
export const columns =
  'r.space, r.collection, r.id, r.head, r.listing_group, r.listing_id, r.hidden, r.indexes, r.due, r.parts';

/** Bytes of the record `r` and its parts, known without reading them. */
export const sizeOf = 'coalesce(octet_length(r.body), 0) + r.part_bytes';

/**
 * The bodies of the parts that the record `r` names, in its order. JSON, which the driver reads far faster than an array.
 * OFFSET 0 here and elsewhere is a fence for the planner: the left side is read row by row, the right by its key.
 */
export const partBodies = `(
  SELECT json_agg(p.body ORDER BY e.n) FROM json_array_elements(r.parts::json) WITH ORDINALITY AS e (place, n)
  CROSS JOIN LATERAL (
    SELECT p.body FROM parts AS p
    WHERE p.space = r.space AND p.filed_under = e.place ->> 0 AND p.part_order = e.place ->> 1 OFFSET 0
  ) AS p)`;

/** The columns of `r` that the view `k.view` shows; large ones are fetched only for the views that show them. */
const viewColumns = `${columns}, CASE WHEN k.view <> 'head' THEN r.body END AS body,
  CASE WHEN k.view = 'parts' THEN ${partBodies} END AS part_bodies`;

/** The number of the live space of the scope `$1`, `$2`; none for a scope without writes. */
export const liveSpace = '(SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2)';

/** Narrow ones for the views that show less: the server sets up the whole of a plan at each call. */
const widths: Readonly<Record<RecordView, string>> = {
  head: columns,
  body: `${columns}, CASE WHEN k.view <> 'head' THEN r.body END AS body`,
  parts: viewColumns,
};

const selectKeysWith = (shown: string) => `
  SELECT s.space AS live, r.* FROM scopes AS s LEFT JOIN LATERAL (
    SELECT ${shown} FROM (SELECT {0} AS collection, {1} AS id, {2} AS view) AS k
    CROSS JOIN LATERAL (
      SELECT r.* FROM records AS r
      WHERE r.space = s.space AND r.collection = k.collection AND r.id = k.id OFFSET 0
    ) AS r
  ) AS r ON true
  WHERE s.kind = $1 AND s.name = $2`;

/** The records of the keys `$3`, `$4` in the views `$5`, beside the live space of the scope `$1`, `$2`. */
export const selectKeys = `
  SELECT s.space AS live, r.* FROM scopes AS s LEFT JOIN LATERAL (
    SELECT ${viewColumns} FROM unnest($3::text[], $4::text[], $5::text[]) AS k (collection, id, view)
    CROSS JOIN LATERAL (
      SELECT r.* FROM records AS r WHERE r.space = s.space AND r.collection = k.collection AND r.id = k.id OFFSET 0
    ) AS r
  ) AS r ON true
  WHERE s.kind = $1 AND s.name = $2`;

/** Reads the keys of a transaction, by the widest of its views. */
export const selectRequested: Readonly<Record<RecordView, string>> = {
  head: selectKeysWith(widths.head),
  body: selectKeysWith(widths.body),
  parts: selectKeysWith(widths.parts),
};

/** A row of `selectKeys`; without a record when none of the keys exists. */
export type KeyRow = { readonly live: string } & (RecordRow | { readonly id: null });

export function recordRows(rows: readonly KeyRow[]): RecordRow[] {
  return rows.filter((row): row is { live: string } & RecordRow => row.id !== null);
}

const width: Readonly<Record<RecordView, number>> = { head: 0, body: 1, parts: 2 };

export function widestView(keys: readonly AskedKey[]): RecordView {
  return keys.reduce<RecordView>((widest, { view }) => (width[view] > width[widest] ? view : widest), 'head');
}

export interface AskedKey {
  readonly key: RecordKey;
  readonly view: RecordView;
  readonly guarded: boolean;
}

/** Each key once, with the widest of its views, guarded if one request guards it, in the one order in which all transactions lock records. */
export function askedKeys(keys: readonly KeyRequest[]): AskedKey[] {
  const asked = new Map<string, AskedKey>();
  for (const { key, view = 'head', unguarded = false } of keys) {
    const before = asked.get(nameOf(key));
    asked.set(nameOf(key), {
      key,
      view: before !== undefined && width[before.view] > width[view] ? before.view : view,
      guarded: !unguarded || before?.guarded === true,
    });
  }
  return [...asked.values()].sort((left, right) => compareKeys(left.key, right.key));
}

export function compareKeys(left: RecordKey, right: RecordKey): number {
  const [one, other] = [nameOf(left), nameOf(right)];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

export function nameOf(key: RecordKey): string {
  return `${key.collection}/${key.id}`;
}

/**
 * The record as the port shows it. A head view leaves body and listing out rather than null, so that writing it back
 * keeps them; `due` is in every view, because a write without it would make the record never due.
 */
export function recordOf(row: RecordRow, view: RecordView): RecordData {
  const key = { collection: row.collection, id: row.id };
  const small = { key, head: parseJson(row.head) as Head, due: row.due === null ? null : Number(row.due) };
  if (view === 'head') return small;
  const record = { ...small, body: row.body ?? null, listing: listingOf(row) };
  return view === 'body' ? record : { ...record, parts: partsOf(row) };
}

export function listingOf(row: RecordRow): Listing | null {
  if (row.listing_group === null) return null;
  const indexes = parseJson(row.indexes ?? '{}') as Record<string, string>;
  return { group: row.listing_group, id: row.listing_id, hidden: row.hidden, indexes };
}

/** The places of a record's parts, as `[of, order]`, in the order in which they were written. */
export function partPlaces(row: RecordRow): readonly (readonly [string, string])[] {
  return row.parts === null ? [] : (parseJson(row.parts) as [string, string][]);
}

function partsOf(row: RecordRow): Part[] {
  const places = partPlaces(row);
  const bodies = row.part_bodies ?? [];
  if (places.length !== bodies.length) {
    throw new StoreError(
      'corrupt',
      `${nameOf(row)} names ${places.length} parts, and ${bodies.length} are stored`,
    );
  }
  return places.map(([of, order], index) => ({ of, order, body: bodies[index] ?? '' }));
}
