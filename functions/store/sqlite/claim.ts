import type { ClaimDecision, ClaimRequest, Collection, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { dueRows, firstDue } from './due.ts';
import { recordOf } from './rows.ts';
import { SearchWrites } from './search-write.ts';
import { liveSpace } from './space.ts';
import { updateRecord } from './write.ts';

/** Offers of one call at most: a backlog that is only parked must not hold the one writer. The next call continues. */
const offersMax = 1_000;
/** Rows read at a time: enough for the requested wins, yet limited, because they include the bodies. */
const batchMin = 8;
const batchMax = 128;

/** Inside the writer's transaction, which makes every offer exclusive. */
export function claimIn<R>(
  connection: Connection,
  scope: Scope,
  collection: Collection,
  request: ClaimRequest,
  decide: ClaimDecision<R>,
): R[] {
  const space = liveSpace(connection, scope);
  const won: R[] = [];
  if (space === undefined) return won;
  const searches = new SearchWrites(connection, space);
  // A record that stays due after its write is read again by a later page; it is offered once.
  const offered = new Set<number>();
  let after = firstDue;
  while (won.length < request.limit && offered.size < offersMax) {
    const size = Math.min(batchMax, Math.max(batchMin, request.limit - won.length));
    const range = { until: request.now, after, size };
    const rows = dueRows(connection, space, collection, range);
    for (const row of rows) {
      if (won.length >= request.limit) break;
      after = [row.due ?? 0, row.listing_id, row.record];
      if (offered.has(row.record)) continue;
      offered.add(row.record);
      const decision = decide(recordOf(connection, space, row, 'body'), offered.size - 1);
      if (decision === null) continue;
      const { key } = decision.put;
      if (key.collection !== row.collection || key.id !== row.id) {
        throw new Error(`a claim of ${row.collection}/${row.id} wrote ${key.collection}/${key.id}`);
      }
      updateRecord(connection, space, row, decision.put);
      searches.put(row.record, decision.put);
      if (decision.result !== undefined) won.push(decision.result);
    }
    if (rows.length < size) break;
  }
  searches.finish();
  return won;
}
