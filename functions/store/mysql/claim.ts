import type { DuePlace } from '../due.ts';
import type { ClaimDecision, ClaimRequest, Collection, Scope, Write } from '../port.ts';
import type { Connection } from './connection.ts';
import { dueStatement, placeOf } from './due.ts';
import { nameOf, type RecordRow, recordOf } from './rows.ts';
import type { SearchTables } from './search-schema.ts';
import { entriesReading, searchWrites, storedEntries } from './search-write.ts';
import { lockScope } from './space.ts';
import { BEGIN, type Statement } from './statement.ts';
import { writesOf } from './write.ts';

/** Offers of one call at most: a backlog that is only parked must not hold the tenant. The next call continues. */
const offersMax = 1_000;
/** Rows read at a time: enough for the requested wins, yet limited, because they include the bodies. */
const batchMin = 8;
const batchMax = 128;

/** Under the scope's lock, which makes every offer exclusive. Won records are returned only after the commit. */
export async function claimIn<R>(
  connection: Connection,
  search: SearchTables,
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
  const first = dueStatement(scope, collection, { until: now, after: undefined, size });
  const [, locked, offered] = await connection.send(BEGIN, lockScope(scope), first);
  const space = locked.rows[0]?.space;
  if (space === undefined) {
    connection.leave();
    return won;
  }
  let { rows } = offered;
  let changed = false;
  for (;;) {
    let last: DuePlace<string> | undefined;
    for (const row of rows) {
      if (won.length >= limit || stored.size >= offersMax) break;
      last = placeOf(row);
      // A record that stays due after its write is read again by a later page; it is offered once.
      if (stored.has(nameOf(row))) continue;
      stored.set(nameOf(row), row);
      const decision = decide(recordOf(row, 'body'), stored.size - 1);
      if (decision === null) continue;
      checkKey(row, decision.put.key);
      writes.push({ put: decision.put });
      if (decision.result !== undefined) won.push(decision.result);
    }
    changed ||= writes.length > 0;
    const searches = await searchesOf(connection, search, scope, space, writes);
    const statements = [...writesOf(space, writes, stored), ...searches];
    if (rows.length < size || won.length >= limit || stored.size >= offersMax || last === undefined) {
      if (changed) await connection.commit(...statements);
      else connection.leave();
      return won;
    }
    await connection.write(...statements);
    writes = [];
    size = sizeNow();
    [{ rows }] = await connection.send(dueStatement(scope, collection, { until: now, after: last, size }));
  }
}

/** A claim seldom changes the listing of a record; when it does, the stored entries are read. */
async function searchesOf(
  connection: Connection,
  search: SearchTables,
  scope: Scope,
  space: number,
  writes: readonly Write[],
): Promise<Statement[]> {
  const changed = writes.flatMap((write) =>
    'put' in write && write.put.search !== undefined ? [write] : [],
  );
  if (changed.length === 0) return [];
  const takesPart = await search.takesPart(connection, scope);
  search.check(changed, scope);
  if (!takesPart) return [];
  const keys = changed.map(({ put }) => put.key);
  const stored = storedEntries(await connection.send(...entriesReading(scope, keys)));
  return searchWrites(space, changed, stored);
}

function checkKey(row: RecordRow, key: { readonly collection: string; readonly id: string }): void {
  if (nameOf(row) !== nameOf(key)) throw new Error(`a claim of ${nameOf(row)} wrote ${nameOf(key)}`);
}
