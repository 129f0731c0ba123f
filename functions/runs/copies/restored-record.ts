import type { RecordData } from '../../store/port.ts';
import { type ActiveCounter, countedBy, countersOf } from '../active-runs.ts';
import { traceLimits } from '../change-run.ts';
import { CHILDREN, cascadeKey, isActive, runRecord } from '../records.ts';
import { restoredRun } from '../rules/restored.ts';
import type { Runtime } from '../runtime.ts';
import { withTrace } from '../trace.ts';
import { archivedRun } from './line-reader.ts';

export interface RestoredRecord {
  readonly record: RecordData;
  /** The counters that count the run from now on. */
  readonly counters: readonly ActiveCounter[];
}

/** The record of an archived run as this deployment stores it: without a lease, and counted by its own counters. */
export function restoredRecord(runtime: Runtime, archived: RecordData, now: number): RestoredRecord {
  const change = restoredRun(archivedRun(archived), now);
  const run =
    change.events.length === 0
      ? change.run
      : withTrace(change, runtime.ids.next(), now, traceLimits(runtime, change.run));
  const counters = isActive(run) ? countersOf(runtime.options, run) : [];
  return { record: runRecord({ ...run, ...countedBy(counters) }), counters };
}

/** Longer than a restore takes: the children of a cancelled run are written before a reconcile looks for them. */
const CASCADE_DELAY_MS = 600_000;

/** A record of a run as a restore writes it. Copies have no due times, and that of a cascade does not follow from its run. */
export function restoredOwned(record: RecordData, now: number): RecordData {
  const { collection, id } = record.key;
  const isCascade = collection === CHILDREN.name && id === cascadeKey(String(record.head.runId)).id;
  return isCascade ? { ...record, due: now + CASCADE_DELAY_MS } : record;
}
