import type { RecordData } from '../../store/port.ts';
import { type ActiveCounter, countedBy, countersOf } from '../active-runs.ts';
import { traceLimits } from '../change-run.ts';
import { isActive, runRecord } from '../records.ts';
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
