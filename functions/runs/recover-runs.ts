import { listPages, recordsOf } from '../store/pages.ts';
import { changeRun } from './change-run.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from './records.ts';
import { loseLease } from './rules/due.ts';
import type { Runtime } from './runtime.ts';

const PAGE = 200;

/**
 * Ends the leases of processes that no longer exist, without waiting for their expiry. Each counts as an expired lease: a
 * run that kills its process must end at some time.
 */
export async function recoverRuns(
  runtime: Runtime,
  isGone: (workerId: string) => boolean,
  now: number,
): Promise<number> {
  const store = await runtime.store();
  const running = { [RUN_INDEX.status]: 'running' };
  const selection = { collection: RUNS, group: RUN_GROUP, equal: running, limit: PAGE };
  let recovered = 0;
  for await (const record of recordsOf(listPages(store, runtime.scope, selection))) {
    const { id, lease } = readRun(record);
    if (lease?.kind !== 'process' || !isGone(lease.workerId)) continue;
    await changeRun(runtime, { runId: id, now, mayEnd: true }, (before) => {
      // Another process may have recovered the run first and hold it now.
      const still = before?.lease?.tokenHash === lease.tokenHash && before.status === 'running';
      return { change: still ? loseLease(before, now, runtime.options) : null, result: null };
    });
    recovered += 1;
  }
  return recovered;
}
