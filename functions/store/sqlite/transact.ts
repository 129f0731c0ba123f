import type {
  Decision,
  LoadedRecords,
  RecordData,
  RecordKey,
  RecordView,
  Scope,
  TransactRequest,
  Write,
} from '../port.ts';
import { checkWrites } from '../requested.ts';
import type { Connection } from './connection.ts';
import { findRow, type RecordRow, recordOf } from './rows.ts';
import { SearchWrites } from './search-write.ts';
import { createLiveSpace, liveSpace } from './space.ts';
import { insertRecord, removeRecord, updateRecord } from './write.ts';

/**
 * Inside the writer's transaction. It holds the only write lock, so every key that was read is guarded. `admit` is called
 * before new data is written, and may refuse it; a request that `frees` space is not asked.
 */
export function transactIn<R>(
  connection: Connection,
  now: number,
  scope: Scope,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
  admit: () => void = () => undefined,
): R {
  const live = liveSpace(connection, scope);
  const rows = new Map<string, RecordRow | undefined>();
  const records = new Map<string, RecordData>();
  for (const [name, { key, view }] of widestViews(request)) {
    const row = live === undefined ? undefined : findRow(connection, live, key, view);
    rows.set(name, row);
    if (row !== undefined && live !== undefined) records.set(name, recordOf(connection, live, row, view));
  }
  const { writes, result } = decide({ get: (key) => records.get(nameOf(key)) });
  checkWrites(writes, request.keys);
  if (request.frees !== true && writes.some((write) => adds(write, rows))) admit();
  if (writes.length > 0) apply(connection, live ?? createLiveSpace(connection, scope, now), writes, rows);
  return result;
}

/** Removals come first, so that a record may reuse the listing id of a removed one. */
function apply(
  connection: Connection,
  space: number,
  writes: readonly Write[],
  rows: ReadonlyMap<string, RecordRow | undefined>,
): void {
  const searches = new SearchWrites(connection, space);
  for (const write of writes) {
    const row = 'remove' in write ? rows.get(nameOf(write.remove)) : undefined;
    if (row === undefined) continue;
    searches.remove(row.record);
    removeRecord(connection, space, row);
  }
  for (const write of writes) {
    if (!('put' in write)) continue;
    const row = rows.get(nameOf(write.put.key));
    if (row !== undefined) updateRecord(connection, space, row, write.put);
    searches.put(row?.record ?? insertRecord(connection, space, write.put), write.put);
  }
  searches.finish();
}

/** New records and new bodies take room; a change of a head, such as the end of a lease, hardly does. */
function adds(write: Write, rows: ReadonlyMap<string, unknown>): boolean {
  if (!('put' in write)) return false;
  const { body, search } = write.put;
  if (typeof body === 'string' || (search !== undefined && search !== null)) return true;
  return rows.get(nameOf(write.put.key)) === undefined;
}

const width: Readonly<Record<RecordView, number>> = { head: 0, body: 1, parts: 2 };

/** A key asked for twice is read once, with the wider of its views. */
function widestViews(request: TransactRequest): Map<string, { key: RecordKey; view: RecordView }> {
  const asked = new Map<string, { key: RecordKey; view: RecordView }>();
  for (const { key, view = 'head' } of request.keys) {
    const before = asked.get(nameOf(key));
    if (before === undefined || width[before.view] < width[view]) asked.set(nameOf(key), { key, view });
  }
  return asked;
}

function nameOf(key: RecordKey): string {
  return `${key.collection}/${key.id}`;
}
