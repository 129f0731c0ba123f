import type { ClaimDecision, ClaimRequest, Collection, Scope, Write } from '../port.ts';
import type { Connection } from './connection.ts';
import { columns, nameOf, type RecordRow, recordOf } from './rows.ts';
import { lockScope } from './space.ts';
import { BEGIN, IN_SCOPE, ofScope, type Statement, statement } from './statement.ts';
import { writesOf } from './write.ts';

/** Offers of one call at most: a backlog that is only parked must not hold the tenant. The next call goes on. */
const offersMax = 1_000;
/** Rows read at a time: enough for the wins asked for, yet bounded, because bodies come with them. */
const batchMin = 8;
const batchMax = 128;

/** Where an offer stood; the next batch begins after it. */
type Place = readonly [due: number, listingId: string, id: string];

/** Under the scope's lock, which makes every offer exclusive. What is won is answered only once it is committed. */
export async function claimIn<R>(
  connection: Connection,
  scope: Scope,
  collection: Collection,
  request: ClaimRequest,
  decide: ClaimDecision<R>,
): Promise<R[]> {
  const { limit, now } = request;
  if (limit <= 0) return [];
  const won: R[] = [];
  const stored = new Map<string, RecordRow>();
  let writes: Write[] = [];
  const sizeNow = () => Math.min(batchMax, Math.max(batchMin, limit - won.length));
  let size = sizeNow();
  const first = dueAfter(scope, collection, now, undefined, size);
  const [, locked, offered] = await connection.send(BEGIN, lockScope(scope), first);
  const space = locked.rows[0]?.space;
  if (space === undefined) {
    connection.leave();
    return won;
  }
  let { rows } = offered;
  let changed = false;
  for (;;) {
    let last: Place | undefined;
    for (const row of rows) {
      if (won.length >= limit || stored.size >= offersMax) break;
      last = [row.due ?? 0, row.listing_id, row.id];
      // A record whose write leaves it due comes up again behind the place where it was offered; it is offered once.
      if (stored.has(nameOf(row))) continue;
      stored.set(nameOf(row), row);
      const decision = decide(recordOf(row, 'body'), stored.size - 1);
      if (decision === null) continue;
      checkKey(row, decision.put.key);
      writes.push({ put: decision.put });
      if (decision.result !== undefined) won.push(decision.result);
    }
    changed ||= writes.length > 0;
    const statements = writesOf(space, writes, stored);
    if (rows.length < size || won.length >= limit || stored.size >= offersMax || last === undefined) {
      if (changed) await connection.commit(...statements);
      else connection.leave();
      return won;
    }
    await connection.write(...statements);
    writes = [];
    size = sizeNow();
    [{ rows }] = await connection.send(dueAfter(scope, collection, now, last, size));
  }
}

function dueAfter(
  scope: Scope,
  collection: Collection,
  now: number,
  after: Place | undefined,
  limit: number,
): Statement<RecordRow> {
  const [due, listingId, id] = after ?? [0, '', ''];
  // The lower bound of `due` is repeated where the index can begin.
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
    now,
    ...(after === undefined ? [] : [due, due, due, listingId, listingId, id]),
    limit,
  );
}

function checkKey(row: RecordRow, key: { readonly collection: string; readonly id: string }): void {
  if (nameOf(row) !== nameOf(key)) throw new Error(`a claim of ${nameOf(row)} wrote ${nameOf(key)}`);
}
