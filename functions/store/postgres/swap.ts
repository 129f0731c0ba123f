import { abandonedLoad, batches } from '../loading.ts';
import type { RecordData, Scope } from '../port.ts';
import type { Connection } from './connection.ts';
import { nothing } from './plan.ts';
import { sweepRemains, trimOnce } from './search-sweep.ts';
import { persistently, type Session } from './session.ts';
import { abandonLoading, beginLoading, createLoading, flipTo, rowsMax, sweepOnce } from './space.ts';
import { writesOf } from './write.ts';

/** One load transaction: bounded, so that memory stays flat and a statement ends in time. */
const bounds = { records: 500, characters: 2 * 1024 * 1024 };

/** Loads into a hidden space, then makes that space live in a transaction of its own. */
export async function swapRecords(
  session: Session,
  scope: Scope,
  records: AsyncIterable<RecordData>,
  verify: () => void | Promise<void>,
): Promise<void> {
  const { database } = session;
  const space = await database.run((connection) => createLoading(connection, scope));
  try {
    for await (const batch of batches(records, bounds)) await load(session, scope, space, batch);
    await verify();
    await persistently(session, async (connection) => {
      if (!(await flipTo(session, connection, scope, space))) throw abandonedLoad();
    });
  } catch (error) {
    // When the store is closing or out of reach, the space cannot be retired now: a later sweep removes it by its age.
    await database.run((connection) => abandonLoading(connection, space)).catch(() => undefined);
    throw error;
  }
}

/** Deletes the content of retired and abandoned spaces, a bounded batch at a time, until `stopped` answers true. */
export async function sweepSpaces({ database, search }: Session, stopped: () => boolean): Promise<void> {
  const remains = search.takeFirstSweep();
  const some = async (connection: Connection): Promise<boolean> =>
    (await sweepOnce(connection, search.ready)) ||
    (remains && (await sweepRemains(connection, rowsMax))) ||
    (search.ready && (await trimOnce(connection)));
  while (!stopped() && (await database.run(some)));
}

function load(session: Session, scope: Scope, space: string, batch: readonly RecordData[]): Promise<void> {
  return session.database.run(async (connection) => {
    if (!(await beginLoading(connection, space))) throw abandonedLoad();
    const plan = { ...nothing, creates: batch };
    const searched = await session.search.change(connection, scope, plan);
    await connection.commit(...writesOf(space, { ...plan, searched }, session));
  });
}
