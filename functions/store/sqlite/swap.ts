import type { Clock } from '../../kernel/world.ts';
import { abandonedLoad, batches } from '../loading.ts';
import type { RecordData, Scope } from '../port.ts';
import type { DiskRoom } from './room.ts';
import { SearchWrites } from './search-write.ts';
import { abandonLoading, createSpace, flipTo, spaceToSweep, sweepSpace, touchLoading } from './space.ts';
import { insertRecord } from './write.ts';
import type { WriteQueue } from './write-queue.ts';

/** One load transaction: bounded, because other calls wait while it runs. */
const bounds = { records: 200, characters: 1024 * 1024 };

/** A load without a write for this time belongs to a process that died. */
const abandonedAfterMs = 60 * 60 * 1000;
const sweepRowsMax = 200;

/** Loads into a hidden space, then makes that space live in a transaction of its own. */
export async function swapRecords(
  { queue, clock, room }: { readonly queue: WriteQueue; readonly clock: Clock; readonly room: DiskRoom },
  scope: Scope,
  records: AsyncIterable<RecordData>,
  verify: () => void | Promise<void>,
): Promise<void> {
  const space = await queue.run((connection) => createSpace(connection, scope, 'loading', clock.now()));
  try {
    for await (const batch of batches(records, bounds)) {
      await queue.run((connection) => {
        if (!touchLoading(connection, space, clock.now())) throw abandonedLoad();
        room.checkLoad(connection, batch);
        const searches = new SearchWrites(connection, space);
        for (const record of batch) searches.put(insertRecord(connection, space, record), record);
        searches.finish();
      });
    }
    await verify();
    await queue.run((connection) => {
      if (!touchLoading(connection, space, clock.now())) throw abandonedLoad();
      flipTo(connection, scope, space, clock.now());
    });
  } catch (error) {
    // When the store is closing or its disk is full, the space cannot be retired now: a later sweep removes it by its age.
    await queue.run((connection) => abandonLoading(connection, space, clock.now())).catch(() => undefined);
    throw error;
  }
}

/** Deletes the content of retired and abandoned spaces, a bounded batch at a time; stops when the store closes or fails. */
export async function sweepSpaces(queue: WriteQueue, clock: Clock): Promise<void> {
  let more = true;
  while (more) {
    more = await queue.run((connection) => {
      const space = spaceToSweep(connection, clock.now() - abandonedAfterMs);
      if (space === undefined) return false;
      sweepSpace(connection, space, sweepRowsMax);
      return true;
    });
  }
}
