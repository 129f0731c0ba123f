import { CopyRefusal } from '../../archives/copy-refusal.ts';
import { listPages } from '../../store/pages.ts';
import type { Head } from '../../store/port.ts';
import { changeRun } from '../change-run.ts';
import { clearAllRemains, type PruneCounts, removeRun } from '../maintenance/remove-run.ts';
import { isActive, RUN_GROUP, RUNS, readRun } from '../records.ts';
import { endForRemoval } from '../rules/end-for-removal.ts';
import type { Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { belongsTo, type RunsOf } from './archive-lines.ts';
import type { RunsCopyOptions } from './export-runs.ts';
import { forgetRestores, isRestore, isRestoreOf } from './restore-mark.ts';

export interface RemoveOptions extends RunsCopyOptions {
  /** Cancels active runs first; without it they are refused. */
  readonly cancel: boolean;
}

const PAGE = 100;

/**
 * Removes runs with all their records, one bounded transaction after another. An interrupted call has removed some runs
 * completely, and the next call removes the rest. Passes repeat until one finds no run, because a caller may still
 * start some.
 */
export async function removeRuns(runtime: Runtime, of: RunsOf, options: RemoveOptions): Promise<PruneCounts> {
  const total: Record<keyof PruneCounts, number> = {
    runs: 0,
    events: 0,
    artifacts: 0,
    checkpoints: 0,
    timers: 0,
    externalEvents: 0,
    leases: 0,
    artifactDirectories: 0,
  };
  await forgetRestores(runtime, of);
  for (let found = true; found; ) {
    found = false;
    for await (const run of runsOf(runtime, of)) {
      options.signal?.throwIfAborted();
      found = true;
      const removed = await removeOne(runtime, run, options);
      if (removed === null) continue;
      for (const name of Object.keys(total) as (keyof PruneCounts)[]) total[name] += removed[name];
      options.onProgress?.({ step: 'removing runs', records: total.runs, recordsTotal: null });
    }
  }
  // An earlier call may have been interrupted between a run and its records; so may a restore of these runs.
  const isMine = (head: Head) => !isRestore(head) || isRestoreOf(head, of);
  await clearAllRemains(runtime, runtime.world.clock.now(), isMine);
  return total;
}

async function removeOne(
  runtime: Runtime,
  seen: Run,
  { cancel }: RemoveOptions,
): Promise<PruneCounts | null> {
  const now = runtime.world.clock.now();
  let run: Run | undefined = seen;
  if (isActive(seen)) {
    if (!cancel)
      throw new CopyRefusal('active_runs', 'some of these runs are active; --cancel-runs cancels them');
    ({ run } = await changeRun(runtime, { runId: seen.id, now, mayEnd: true }, (before, _, at) => ({
      change: before === undefined || !isActive(before) ? null : endForRemoval(before, at),
      result: null,
    })));
  }
  return run === undefined ? null : removeRun(runtime, run, now);
}

async function* runsOf({ store: open, scope }: Runtime, of: RunsOf): AsyncGenerator<Run, void, undefined> {
  const store = await open();
  const pages = listPages(store, scope, { collection: RUNS, group: RUN_GROUP, limit: PAGE });
  for await (const { records } of pages)
    for (const record of records) {
      const run = readRun(record);
      if (belongsTo(run, of)) yield run;
    }
}
