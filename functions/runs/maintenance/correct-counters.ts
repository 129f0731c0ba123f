import { walkPages } from '../../store/pages.ts';
import type { LoadedRecords, Moment, RecordKey, Write } from '../../store/port.ts';
import { ALWAYS, activeCount, counterRecord, countersOfRun, shardsOf, writersOf } from '../active-runs.ts';
import { MARK, markOf } from '../index-mark.ts';
import {
  activeCounterKey,
  COUNTERS,
  jobCounterKey,
  RUN_GROUP,
  RUN_INDEX,
  RUNS,
  readRun,
} from '../records.ts';
import type { RunStatus } from '../run.ts';
import type { Runtime } from '../runtime.ts';

const PAGE = 200;
/** Counters that one transaction corrects. */
const CHUNK = 50;
const ACTIVE: readonly RunStatus[] = ['queued', 'running', 'waiting'];

interface Drift {
  readonly key: RecordKey;
  /** The number that the counter lacks; negative when the counter is too high. */
  readonly by: number;
}

/**
 * Compares counters and active runs of one moment and adds the difference to each wrong counter. Runs that start or
 * end afterwards change the counter and the true number alike, so they need not be stopped. Returns the number
 * of wrong counters; `null` when the time was over or another repair has begun, which does the rest.
 */
export async function correctCounters(
  runtime: Runtime,
  repair: string,
  isOver: () => boolean,
): Promise<number | null> {
  if (runtime.options.activeRunsMax === null) return 0;
  const known = await knownCounters(runtime);
  if (isOver()) return null;
  const store = await runtime.store();
  const drifts = await store.snapshot(runtime.scope, (moment) => driftsAt(runtime, moment, known, isOver));
  if (drifts === null) return null;
  const shards = shardsOf(runtime.options);
  const whole = new Set([...shards.map(activeCounterKey), ...shards.map(jobCounterKey)].map(({ id }) => id));
  for (let at = 0; at < drifts.length; at += CHUNK) {
    const chunk = drifts.slice(at, at + CHUNK);
    const keys = [MARK, ...chunk.map(({ key }) => key)].map((key) => ({ key }));
    const isMine = await store.transact(runtime.scope, { gate: MARK, keys }, (found) => {
      if (markOf(found.get(MARK)).repair !== repair) return { writes: [], result: false };
      return { writes: chunk.map((drift) => corrected(found, drift, whole)), result: true };
    });
    if (!isMine) return null;
  }
  return drifts.length;
}

/** A counter of an owner without active runs is found by no run. */
async function knownCounters(runtime: Runtime): Promise<Set<string>> {
  const store = await runtime.store();
  const ids = new Set<string>();
  for await (const { records } of store.scan(runtime.scope, { collections: [COUNTERS.name], pageSize: PAGE }))
    for (const { key, head } of records) if (typeof head.active === 'number') ids.add(key.id);
  return ids;
}

async function driftsAt(
  runtime: Runtime,
  moment: Moment,
  known: ReadonlySet<string>,
  isOver: () => boolean,
): Promise<readonly Drift[] | null> {
  const active = new Map([...known].map((id) => [id, 0]));
  for (const status of ACTIVE) {
    const selection = {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.status]: status },
      limit: PAGE,
    } as const;
    for await (const { records } of walkPages((after) => moment.query({ ...selection, ...after }))) {
      for (const run of records.map((record) => readRun(record)).filter(({ counted }) => counted)) {
        for (const { key } of countersOfRun(runtime.options, run))
          active.set(key.id, (active.get(key.id) ?? 0) + 1);
      }
      if (isOver()) return null;
    }
  }
  const drifts: Drift[] = [];
  const ids = [...active.keys()];
  for (let at = 0; at < ids.length; at += PAGE) {
    const chunk = ids.slice(at, at + PAGE).map((id) => ({ key: { collection: COUNTERS.name, id } }));
    const { records } = await moment.query({ by: 'keys', keys: chunk });
    const stored = new Map(records.map(({ key, head }) => [key.id, Number(head.active ?? 0)]));
    for (const { key } of chunk) {
      const by = (active.get(key.id) ?? 0) - (stored.get(key.id) ?? 0);
      if (by !== 0) drifts.push({ key, by });
    }
  }
  return drifts;
}

/** Counters of all runs and of all jobs stay at 0; a share exists only while it counts something. */
function corrected(found: LoadedRecords, { key, by }: Drift, whole: ReadonlySet<string>): Write {
  const active = Math.max(0, activeCount(found, key) + by);
  const before = found.get(key);
  if (whole.has(key.id))
    return { put: counterRecord(key, active, before === undefined ? ALWAYS : writersOf(before)) };
  return active === 0 ? { remove: key } : { put: { key, head: { active } } };
}
