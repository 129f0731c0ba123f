import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import type { Change, Run, TraceDraft, TraceEntry } from './run.ts';

/** Entries and characters that stay with the run; beyond them the run's trace moves to a record of its own. */
const INLINE_ENTRIES_MAX = 16;
const INLINE_CHARACTERS_MAX = 8_192;

/** A microsecond in ordered ids: the step to the next id of the same node. */
const STEP = 8_192n;
const ID_DIGITS = 20;

/** Room that the runtime's own events have where what workers send is dropped already. */
const OWN_EVENTS_RESERVE = 1_000;

export interface TraceLimits {
  readonly eventsPerRunMax: number;
  readonly messageLengthMax: number;
  /** Names of top-level members of details that are not to be kept. */
  readonly redacted: ReadonlySet<string>;
}

const CUT_MARK = '...[truncated]';
const REDACTED = '[redacted]';

/**
 * The run with the events in its trace, in order after all that it has. `baseId` is an ordered id drawn for this change: the
 * ids go on from it, or from the run's last one where that is later, so that the ids of a run strictly increase whatever
 * the clocks of those who write them say. Where a run has as many entries as it may, further ones are counted and
 * dropped; a run never fails for having much to tell.
 */
export function withTrace(change: Change, baseId: string, now: number, limits: TraceLimits): Run {
  const { run, events } = change;
  if (events.length === 0) return { ...run, ...momentsOf(run, now) };
  let last = run.lastSequenceId;
  let { traceDropped } = run;
  const entries: TraceEntry[] = [];
  for (const event of events) {
    if (run.traced - run.traceDropped + entries.length >= roomFor(event, limits)) {
      traceDropped += 1;
      continue;
    }
    last = last >= baseId ? after(last) : baseId;
    entries.push(entryOf(run, event, last, now, limits));
  }
  return {
    ...run,
    ...momentsOf(run, now),
    trace: [...run.trace, ...entries],
    lastSequenceId: last,
    traced: run.traced + events.length,
    traceDropped,
  };
}

function momentsOf(run: Run, now: number): Pick<Run, 'updatedAt' | 'queuedAt'> {
  const updatedAt = later(now, run);
  return { updatedAt, queuedAt: run.status === 'queued' ? (run.queuedAt ?? updatedAt) : null };
}

/** Clocks of several instances differ; what a run tells of its times never goes back. */
function later(now: number, run: Run): number {
  return Math.max(now, run.updatedAt);
}

function entryOf(
  run: Run,
  event: TraceDraft,
  sequenceId: string,
  now: number,
  { messageLengthMax, redacted }: TraceLimits,
): TraceEntry {
  const message = event.message ?? null;
  return {
    sequenceId,
    type: event.type,
    at: later(now, run),
    attempt: run.attempt,
    status: run.status,
    severity: event.severity ?? 'info',
    message: message === null ? null : cut(message, messageLengthMax),
    details: redact(event.details ?? null, redacted),
    workerId: event.workerId ?? null,
  };
}

function after(sequenceId: string): string {
  return String(BigInt(sequenceId) + STEP).padStart(ID_DIGITS, '0');
}

/** Never in the middle of a character of two units. */
function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax - CUT_MARK.length).toWellFormed()}${CUT_MARK}`;
}

function redact(details: JsonObject | null, names: ReadonlySet<string>): JsonObject | null {
  if (details === null || names.size === 0) return details;
  const kept = Object.entries(details).map(([name, value]): [string, Json] => [
    name,
    names.has(name) ? REDACTED : value,
  ]);
  return Object.fromEntries(kept);
}

/** The entries that move to a record of their own with the next write, or none: then they ride on the run. */
export function overflowingTrace(run: Run): readonly TraceEntry[] {
  if (run.trace.length <= 1) return run.trace.length === 1 && tooLarge(run.trace) ? run.trace : [];
  return run.trace.length > INLINE_ENTRIES_MAX || tooLarge(run.trace) ? run.trace : [];
}

function tooLarge(entries: readonly TraceEntry[]): boolean {
  let characters = 0;
  for (const { message, details } of entries) {
    characters += message?.length ?? 0;
    if (details !== null) characters += JSON.stringify(details).length;
    if (characters > INLINE_CHARACTERS_MAX) return true;
  }
  return false;
}

const ownTypes: ReadonlySet<string> = new Set([
  'run.created',
  'run.started',
  'run.cancellation_requested',
  'run.completed',
  'run.failed',
  'run.rejected',
  'retry.scheduled',
  'lease.acquired',
  'lease.expired',
  'wait.registered',
  'wait.resumed',
  'wait.timed_out',
]);

/** How the run ends, and that it was asked to: told once or twice of a run, and looked for by whoever reads its trace. */
const endTypes: ReadonlySet<string> = new Set([
  'run.cancellation_requested',
  'run.completed',
  'run.failed',
  'run.rejected',
]);

function roomFor(event: TraceDraft, { eventsPerRunMax }: TraceLimits): number {
  if (!isOwn(event)) return eventsPerRunMax;
  return endTypes.has(event.type) ? Number.POSITIVE_INFINITY : eventsPerRunMax + OWN_EVENTS_RESERVE;
}

/** What the runtime itself tells of a run's life, which is bounded by attempts and waits, not by a worker's zeal. */
function isOwn({ type, byWorker = false }: TraceDraft): boolean {
  return !byWorker && ownTypes.has(type);
}
