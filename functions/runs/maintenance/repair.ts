import { describeFailure } from '../../kernel/log.ts';
import { activeCount, counterRecord, writersOf } from '../active-runs.ts';
import {
  type IndexState,
  isWhole,
  MARK,
  markOf,
  markRecord,
  readIndexState,
  wholeCounters,
} from '../index-mark.ts';
import type { Runtime } from '../runtime.ts';
import { indexRuns } from '../scope-index.ts';
import { correctCounters } from './correct-counters.ts';

/** Without a sign of an earlier release, a repair still runs once in this time: a refused start leaves no sign. */
const INTERVAL_MS = 86_400_000;

/**
 * Repairs runs of servers of release 0.5.0 on the same store: runs that they start lack index and share, and runs that
 * they end stay in their share. Costs one read when all is in order. The next call repairs the rest.
 */
export async function repairRuns(runtime: Runtime, isOver: () => boolean): Promise<void> {
  try {
    const now = runtime.world.clock.now();
    const state = await readIndexState(runtime);
    if (isDue(runtime, state, now)) await repair(runtime, now, isOver);
  } catch (error) {
    const message = 'The index and the counters of runs could not be repaired';
    runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
  }
}

/** Without a ceiling no counter shows the starts of an earlier release. */
function isDue({ options }: Runtime, state: IndexState, now: number): boolean {
  const { repairedAt } = state.mark;
  // A clock that was ahead may have stored a time in the future.
  const isOld = repairedAt !== null && Math.abs(now - repairedAt) >= INTERVAL_MS;
  return options.activeRunsMax === null || !isWhole(state) || isOld;
}

async function repair(runtime: Runtime, now: number, isOver: () => boolean): Promise<void> {
  const name = runtime.ids.next();
  const mark = await begin(runtime, name, now);
  if (!(await indexRuns(runtime, mark, { now, isOver }))) return;
  const corrected = await correctCounters(runtime, name, isOver);
  if (corrected === null) return;
  if (corrected > 0) {
    const message = `Corrected ${corrected} counters of active runs, which a server of an earlier release had left`;
    runtime.log({ severity: 'INFO', message });
  }
  await finish(runtime, name, now);
}

/** Marks the counters first: a server of 0.5.0 that starts a run from now on removes the mark. */
async function begin(runtime: Runtime, name: string, now: number) {
  const store = await runtime.store();
  const counters = wholeCounters(runtime);
  const keys = [MARK, ...counters].map((key) => ({ key }));
  return store.transact(runtime.scope, { gate: MARK, keys }, (found) => {
    const mark = markOf(found.get(MARK));
    const unmarked = counters.flatMap((key) => {
      const counter = found.get(key);
      const writers = counter === undefined ? null : writersOf(counter);
      if (counter === undefined || (writers !== null && writers.since <= now)) return [];
      const compared = writers?.compared === true;
      return [{ put: counterRecord(key, activeCount(found, key), { since: now, compared }) }];
    });
    return { writes: [{ put: markRecord({ ...mark, repair: name }) }, ...unmarked], result: mark };
  });
}

/** The repair began before all its reads, so only later changes may be missing. */
async function finish(runtime: Runtime, name: string, now: number): Promise<void> {
  const store = await runtime.store();
  const counters = wholeCounters(runtime);
  const keys = [MARK, ...counters].map((key) => ({ key }));
  await store.transact(runtime.scope, { gate: MARK, keys }, (found) => {
    const mark = markOf(found.get(MARK));
    if (mark.repair !== name) return { writes: [], result: null };
    const compared = counters.flatMap((key) => {
      const counter = found.get(key);
      const writers = counter === undefined ? null : writersOf(counter);
      if (writers === null || writers.compared) return [];
      return [{ put: counterRecord(key, activeCount(found, key), { ...writers, compared: true }) }];
    });
    return { writes: [{ put: markRecord({ ...mark, repairedAt: now }) }, ...compared], result: null };
  });
}
