import type { Clock } from '../../kernel/world.ts';
import { abandonedLoad, batches } from '../loading.ts';
import type { RecordData, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
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

/** A load that wrote nothing for so long belongs to a process that died. */
const abandonedAfterMs = 60 * 60 * 1000;
const sweepRowsMax = 500;

/** Runs one transaction on a connection, again when it lost a race. */
export type Run = <R>(work: (connection: Connection) => Promise<R>) => Promise<R>;

/** Loads into a hidden space without a lock on the scope, then makes that space the live one. */
export async function swapRecords(
  run: Run,
  clock: Clock,
  scope: Scope,
  records: AsyncIterable<RecordData>,
  verify: () => void | Promise<void>,
  flip: (work: (connection: Connection) => Promise<void>) => Promise<void>,
): Promise<void> {
  const space = await run((connection) => createLoading(connection, scope, clock.now()));
  try {
    for await (const batch of batches(records, bounds)) {
      await run((connection) => load(connection, space, clock.now(), batch));
    }
    await verify();
    await flip((connection) => flipTo(connection, scope, space, clock.now()));
  } catch (error) {
    // What cannot be retired now, because the store is closing or the server is gone, is swept once it is old.
    await run(async (connection) => {
      await connection.send(abandonLoading(space, clock.now()));
    }).catch(() => undefined);
    throw error;
  }
}

/** Deletes the content of retired and abandoned spaces, a bounded batch at a time; ends when the store closes or fails. */
export async function sweepSpaces(run: Run, clock: Clock): Promise<void> {
  let more = true;
  while (more) {
    more = await run((connection) => sweepSome(connection, clock.now() - abandonedAfterMs, sweepRowsMax));
  }
}

async function load(
  connection: Connection,
  space: number,
  now: number,
  batch: readonly RecordData[],
): Promise<void> {
  const [, touched] = await connection.send(BEGIN, touchLoading(space, now));
  if (touched.matched === 0) throw abandonedLoad();
  await connection.commit(...insertRecords(space, batch));
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
