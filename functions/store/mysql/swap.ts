import type { Clock } from '../../kernel/world.ts';
import { abandonedLoad, batches } from '../loading.ts';
import type { RecordData, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import type { SearchTables } from './search-schema.ts';
import { sweepRemains } from './search-sweep.ts';
import { searchWrites } from './search-write.ts';
import {
  abandonLoading,
  createLoading,
  createScope,
  lockScope,
  makeLive,
  pointTo,
  retire,
  sweepSome,
  touchLoading,
} from './space.ts';
import { BEGIN } from './statement.ts';
import { insertRecords } from './write.ts';

/** The size of one load transaction, which is held in memory. */
const bounds = { records: 500, characters: 1024 * 1024 };

/** A load without a write for this time belongs to a process that died. */
const abandonedAfterMs = 60 * 60 * 1000;
const sweepRowsMax = 500;

/** Runs one transaction on a connection, again when it lost a race. */
export type RunTransaction = <R>(work: (connection: Connection) => Promise<R>) => Promise<R>;

/** Loads into a hidden space without a lock on the scope, then makes that space the live one. */
export async function swapRecords(
  run: RunTransaction,
  { clock, search }: { readonly clock: Clock; readonly search: SearchTables },
  scope: Scope,
  records: AsyncIterable<RecordData>,
  verify: () => void | Promise<void>,
  flip: (work: (connection: Connection) => Promise<void>) => Promise<void>,
): Promise<void> {
  const space = await run((connection) => createLoading(connection, scope, clock.now()));
  try {
    for await (const batch of batches(records, bounds)) {
      await run((connection) => load(connection, search, scope, space, { now: clock.now(), batch }));
    }
    await verify();
    await flip((connection) => flipTo(connection, scope, space, clock.now()));
  } catch (error) {
    // When the store is closing or the server is gone, the space cannot be retired now: a later sweep removes it by its age.
    await run(async (connection) => {
      await connection.send(abandonLoading(space, clock.now()));
    }).catch(() => undefined);
    throw error;
  }
}

/** Deletes the content of retired and abandoned spaces, a bounded batch at a time; ends when the store closes or fails. */
export async function sweepSpaces(run: RunTransaction, clock: Clock, search: SearchTables): Promise<void> {
  const most = () => ({ abandonedBefore: clock.now() - abandonedAfterMs, rows: sweepRowsMax });
  const remains = search.takeFirstSweep();
  const some = async (connection: Connection): Promise<boolean> =>
    (await sweepSome(connection, { ...most(), searched: search.ready })) ||
    (remains && (await sweepRemains(connection, sweepRowsMax)));
  while (await run(some));
}

async function load(
  connection: Connection,
  search: SearchTables,
  scope: Scope,
  space: number,
  { now, batch }: { readonly now: number; readonly batch: readonly RecordData[] },
): Promise<void> {
  const writes = batch.map((put) => ({ put }));
  const takesPart = await search.takesPart(connection, scope);
  search.check(writes, scope);
  const [, touched] = await connection.send(BEGIN, touchLoading(space, now));
  if (touched.matched === 0) throw abandonedLoad();
  const searches = takesPart ? searchWrites(space, writes, new Map()) : [];
  await connection.commit(...insertRecords(space, batch), ...searches);
}

async function flipTo(connection: Connection, scope: Scope, space: number, now: number): Promise<void> {
  let [, locked, live] = await connection.send(BEGIN, lockScope(scope), makeLive(space, now));
  if (locked.rows.length === 0) {
    // Nothing was ever written here: there is no row to lock yet.
    await connection.rollback();
    await createScope(connection, scope, now);
    [, locked, live] = await connection.send(BEGIN, lockScope(scope), makeLive(space, now));
  }
  const before = locked.rows[0]?.space;
  if (live.matched === 0 || before === undefined) throw abandonedLoad();
  await connection.commit(retire(before, now), pointTo(scope, space));
}
