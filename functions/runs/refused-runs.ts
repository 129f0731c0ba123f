import { listPages, recordsOf } from '../store/pages.ts';
import { afterWrite } from './announcements.ts';
import { removeRun } from './maintenance/remove-run.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun, retentionOwner } from './records.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Refused starts that are kept of each owner. */
export const REFUSED_MAX = 50;

const PAGE = REFUSED_MAX + 10;

/** Removes the refused starts of this owner beyond the newest 50. The next refused start tries again what fails. */
export async function boundRefused(runtime: Runtime, refused: Run, now: number): Promise<void> {
  await afterWrite(runtime, 'Older refused starts could not be removed', async () => {
    const store = await runtime.store();
    const pages = listPages(store, runtime.scope, {
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.refused]: retentionOwner(refused) },
      direction: 'descending',
      limit: PAGE,
    });
    let seen = 0;
    for await (const record of recordsOf(pages)) {
      seen += 1;
      if (seen > REFUSED_MAX) await removeRun(runtime, readRun(record), now);
    }
  });
}
