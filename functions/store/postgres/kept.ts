import type { RecordKey, Scope } from '../port.ts';
import type { AskedKey, RecordRow } from './rows.ts';
import { CONDITION, type Column, rowsStatement, type Statement } from './statement.ts';

/** Whether all reads of the decision are unchanged. */
export interface KeptRow {
  readonly kept: boolean;
}

/** Statements of which the first answers whether they write. */
export type IfKept = readonly [Statement<KeptRow>, ...Statement[]];

/**
 * A text that is no boolean, so the server fails the statement and writes nothing. The server's log shows the reason.
 */
const refusal = `concat('a record changed while it was locked; the writer begins again')::boolean`;

/** `invalid_text_representation`, with which it does so. */
const refused = '22P02';

export function isRefused(sqlState: string | undefined): boolean {
  return sqlState === refused;
}

/**
 * Locks the read records in the order of their keys, and compares every value that the decision or its writes use.
 * Under READ COMMITTED the server checks a row again after a wait for its lock, as the rival left it: so a locked row
 * equals the row that was read, and stays so.
 *
 * An update in the same statement sees the rows as of its beginning. If a rival has replaced a row by an equal one
 * since, the lock is at another place; some minor versions of the server would reach the row by its old place and
 * others would not, and they would miss its entries. So the update takes only rows at their locked places, and the
 * taken rows are counted.
 */
const heldRows = `WITH held AS MATERIALIZED (
    SELECT r.place FROM (SELECT {0} AS collection, {1} AS id, {2} AS head, {3} AS due, {4} AS listing_group, {5} AS listing_id,
      {6} AS hidden, {7} AS indexes, {8} AS parts, {9} AS body_seen, {10} AS body) AS k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place FROM records AS r
      WHERE r.space = $1::bigint AND r.collection = k.collection AND r.id = k.id
        AND r.head = k.head AND r.listing_id = k.listing_id AND r.hidden = k.hidden
        AND r.due IS NOT DISTINCT FROM k.due AND r.listing_group IS NOT DISTINCT FROM k.listing_group
        AND r.indexes IS NOT DISTINCT FROM k.indexes AND r.parts IS NOT DISTINCT FROM k.parts
        AND (NOT k.body_seen OR r.body IS NOT DISTINCT FROM k.body)
      FOR UPDATE OF r
    ) AS r
  ), kept AS MATERIALIZED (
    SELECT (SELECT count(*) FROM held) = $4::int AND EXISTS (
      SELECT 1 FROM scopes AS s WHERE s.kind = $2 AND s.name = $3 AND s.space = $1::bigint
    ) AND NOT EXISTS (
      SELECT 1 FROM records AS r WHERE r.space = $1::bigint AND r.collection = $5 AND r.id = $6
    ) AS kept
  )
  SELECT `;

const heldScope = `WITH kept AS MATERIALIZED (
    SELECT EXISTS (
      SELECT 1 FROM scopes AS s WHERE s.kind = $2 AND s.name = $3 AND s.space = $1::bigint
    ) AND NOT EXISTS (
      SELECT 1 FROM records AS r WHERE r.space = $1::bigint AND r.collection = $4 AND r.id = $5
    ) AS kept
  )
  SELECT `;

/** The check in a statement that also writes. */
const inOne = (updates: string) =>
  `CASE WHEN NOT kept.kept THEN false WHEN ${CONDITION} = ${updates} THEN true ELSE ${refusal} END AS kept FROM kept`;

/** Precedes other statements of the transaction, which see the locked rows and read the result of the comparison. */
const forOthers = `set_config('svc.kept', kept.kept::text, true)::boolean AS kept FROM kept`;
const asked = `(SELECT current_setting('svc.kept') = 'true')`;

const texts = {
  rows: { inOne: heldRows + inOne('$7::int'), forOthers: heldRows + forOthers },
  scope: { inOne: heldScope + inOne('0'), forOthers: heldScope + forOthers },
} as const;

const found = '(SELECT kept FROM kept)';

/** The conditions of the writes, in one statement with the check and behind it. `update`: of rows that are found at a place `k.place`. */
export const conditions = {
  inOne: found,
  update: `${found} AND k.place IN (SELECT held.place FROM held)`,
  behind: asked,
} as const;

export interface Reliance {
  readonly scope: Scope;
  readonly space: string;
  /** In the order of their keys. */
  readonly rows: readonly { readonly row: RecordRow; readonly view: AskedKey['view'] }[];
  /** A record that was absent, and is now found only behind a rival at its gate. */
  readonly gate: RecordKey | undefined;
}

/**
 * Checks a write, after the lock of the scope: the scope, the records and the gate must be as they were read. `updates` is the number
 * of rows that the same statement updates; `undefined` if other statements write.
 */
export function keptStatement(
  { scope, space, rows, gate }: Reliance,
  updates: number | undefined,
): Statement<KeptRow> {
  const place = [space, scope.kind, scope.name] as const;
  const absent = [gate?.collection ?? '', gate?.id ?? ''] as const;
  const how = updates === undefined ? 'forOthers' : 'inOne';
  if (rows.length === 0) return { text: texts.scope[how], values: [...place, ...absent] };
  const text = (of: (row: RecordRow) => string | null): Column => ['text', rows.map(({ row }) => of(row))];
  return rowsStatement<KeptRow>(
    texts.rows[how],
    [...place, rows.length, ...absent, ...(updates === undefined ? [] : [updates])],
    [
      text(({ collection }) => collection),
      text(({ id }) => id),
      text(({ head }) => head),
      ['bigint', rows.map(({ row }) => row.due)],
      text((row) => row.listing_group),
      text((row) => row.listing_id),
      ['boolean', rows.map(({ row }) => row.hidden)],
      text(({ indexes }) => indexes),
      text(({ parts }) => parts),
      ['boolean', rows.map(({ view }) => view !== 'head')],
      text(({ body }) => body ?? null),
    ],
  );
}
