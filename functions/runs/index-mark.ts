import type { RecordData, RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { shardsOf, writersOf } from './active-runs.ts';
import { activeCounterKey, COUNTERS } from './records.ts';
import type { Runtime } from './runtime.ts';

/** The stored state of the index by scope. */
export interface IndexMark {
  /** Every run up to this id is indexed. */
  readonly after: string;
  /** Whether indexing has reached the last run once. */
  readonly done: boolean;
  /** When the last whole repair began; `null` before the first. */
  readonly repairedAt: number | null;
  /** The repair under way, or the last one: no other may correct counters. */
  readonly repair: string;
}

export const MARK: RecordKey = { collection: COUNTERS.name, id: recordId('index-of-runs') };

export function markOf(record: RecordData | undefined): IndexMark {
  const { after, done, repairedAt, repair } = record?.head ?? {};
  return {
    after: typeof after === 'string' ? after : '',
    done: done === true,
    repairedAt: typeof repairedAt === 'number' ? repairedAt : null,
    repair: typeof repair === 'string' ? repair : '',
  };
}

export function markRecord(mark: IndexMark): RecordData {
  return { key: MARK, head: { ...mark } };
}

/**
 * The time without a start or an end of a run after which a server of 0.5.0 counts as stopped.
 * @testonly
 */
export const QUIET_MS = 600_000;

export interface IndexState {
  readonly mark: IndexMark;
  /** Since when no server of 0.5.0 has written each counter of all runs; 0 for always, `null` if one has. */
  readonly since: ReadonlyMap<string, number | null>;
}

export function wholeCounters({ options }: Runtime): readonly RecordKey[] {
  return options.activeRunsMax === null ? [] : shardsOf(options).map(activeCounterKey);
}

export async function readIndexState(runtime: Runtime): Promise<IndexState> {
  const store = await runtime.store();
  const keys = [MARK, ...wholeCounters(runtime)].map((key) => ({ key }));
  const { records } = await store.query(runtime.scope, { by: 'keys', keys });
  const counters = records.filter(({ key }) => key.id !== MARK.id);
  return {
    mark: markOf(records.find(({ key }) => key.id === MARK.id)),
    since: new Map(counters.map((counter) => [counter.key.id, writersOf(counter)?.since ?? null])),
  };
}

/**
 * Whether the index has every run. A server of 0.5.0 starts runs without it, and each start changes a counter: the index is
 * whole after a repair that began when no such server had changed a counter for a while.
 */
export function isWhole({ mark, since }: IndexState): boolean {
  if (!mark.done) return false;
  const { repairedAt } = mark;
  return [...since.values()].every(
    (each) => each === 0 || (each !== null && repairedAt !== null && each + QUIET_MS <= repairedAt),
  );
}
