import type { Collection } from '../../store/port.ts';
import { ARTIFACTS, CHECKPOINTS, CHILDREN, LEASES, RUN_TRACE_PARTS, TIMERS, VALUES } from '../records.ts';
import type { Run, TraceEntry } from '../run.ts';

/** Collections whose records belong to one run and are listed under its id. */
export const OWNED: readonly Collection[] = [
  VALUES,
  RUN_TRACE_PARTS,
  ARTIFACTS,
  CHECKPOINTS,
  LEASES,
  TIMERS,
  CHILDREN,
];

/** Records that a run may own after a trace event of this type. Each is written in one transaction with its event. */
const ownedAfter: ReadonlyMap<string, readonly Collection[]> = new Map(
  Object.entries({
    'run.created': [],
    'run.started': [],
    'run.child_started': [CHILDREN],
    // A small payload that replaces a large one leaves the record of the large one.
    'run.replaced': [VALUES],
    'run.cancellation_requested': [],
    'run.completed': [],
    'run.failed': [],
    'run.rejected': [],
    'lease.expired': [],
    'lease.released': [],
    log: [],
    // A smaller result that replaces a large one leaves the record of the large one.
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
 * Collections in which the run may have records. A complete trace shows them, which saves queries that find nothing;
 * otherwise all count.
 */
export function mayOwn(run: Run): readonly Collection[] {
  const has = new Set<Collection>();
  const whole = run.trace.length === run.traced && run.traceDropped === 0;
  for (const each of whole ? run.trace.flatMap(ownedAfterEntry) : OWNED) has.add(each);
  if ('record' in run.payload || 'record' in run.result) has.add(VALUES);
  if (run.artifacts === 0) has.delete(ARTIFACTS);
  return OWNED.filter((each) => has.has(each));
}

function ownedAfterEntry({ type, details }: TraceEntry): readonly Collection[] {
  // The run's own lease has no details; a run-owned lease has its name.
  if (type === 'lease.acquired') return details === null ? [] : [LEASES];
  return ownedAfter.get(type) ?? OWNED;
}

/** Whether the run is unchanged between two reads. */
export function sameState(one: Run, other: Run): boolean {
  return (
    one.updatedAt === other.updatedAt &&
    one.traced === other.traced &&
    one.trace.length === other.trace.length &&
    one.lastSequenceId === other.lastSequenceId
  );
}
