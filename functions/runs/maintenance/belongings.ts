import type { Collection } from '../../store/port.ts';
import { ARTIFACTS, CHECKPOINTS, LEASES, TIMERS, TRACES, VALUES } from '../records.ts';
import type { Run, TraceEntry } from '../run.ts';

/** Records that belong to one run: all are listed under its id. */
export const OWNED: readonly Collection[] = [VALUES, TRACES, ARTIFACTS, CHECKPOINTS, LEASES, TIMERS];

/** What may lie beside a run since this was told of it. Each record is written in one transaction with what tells of it. */
const leaves: ReadonlyMap<string, readonly Collection[]> = new Map(
  Object.entries({
    'run.created': [],
    'run.started': [],
    'run.cancellation_requested': [],
    'run.completed': [],
    'run.failed': [],
    'run.rejected': [],
    'lease.expired': [],
    'lease.released': [],
    log: [],
    // A result that a later, smaller one has taken the place of stays in its record.
    'run.status': [VALUES],
    'retry.scheduled': [VALUES],
    'wait.registered': [VALUES],
    'wait.resumed': [VALUES],
    'wait.timed_out': [VALUES],
    'external_event.raised': [VALUES],
    'artifact.written': [ARTIFACTS],
    'checkpoint.written': [CHECKPOINTS],
    'timer.scheduled': [TIMERS],
  }),
);

/**
 * In which collections records of the run may be. Where its whole trace is still with the run, that tells it, and most runs
 * have none: a query that is known to find nothing need not be paid for. What is not known leaves everything.
 */
export function mayOwn(run: Run): readonly Collection[] {
  const has = new Set<Collection>();
  const whole = run.trace.length === run.traced && run.traceDropped === 0;
  for (const each of whole ? run.trace.flatMap(leftBy) : OWNED) has.add(each);
  if ('record' in run.payload || 'record' in run.result) has.add(VALUES);
  if (run.artifacts === 0) has.delete(ARTIFACTS);
  return OWNED.filter((each) => has.has(each));
}

function leftBy({ type, details }: TraceEntry): readonly Collection[] {
  // The lease of the run itself has no details; one on a name of the application's own tells the name.
  if (type === 'lease.acquired') return details === null ? [] : [LEASES];
  return leaves.get(type) ?? OWNED;
}

/** Whether nothing was written to the run between two looks at it. */
export function sameState(one: Run, other: Run): boolean {
  return (
    one.updatedAt === other.updatedAt &&
    one.traced === other.traced &&
    one.trace.length === other.trace.length &&
    one.lastSequenceId === other.lastSequenceId
  );
}
