import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { momentIn } from './rules/moment.ts';
import type { Change, Run, RunTraceDraft, TraceEntry } from './run.ts';

/** Trace entries and characters that stay in the run's record. A longer trace moves to a record of its own. */
const INLINE_ENTRIES_MAX = 16;
const INLINE_CHARACTERS_MAX = 8_192;

/** One microsecond in ordered ids: the step to the next id of the same node. */
const STEP = 8_192n;
const ID_DIGITS = 20;

/** Entries reserved for events of the runtime after those of workers are dropped. */
const OWN_EVENTS_RESERVE = 1_000;

export interface RunTraceLimits {
  readonly eventsPerRunMax: number;
  readonly messageLengthMax: number;
  /** Top-level members that are removed from details. */
  readonly redacted: ReadonlySet<string>;
}

const CUT_MARK = '...[truncated]';
const REDACTED = '[redacted]';

/**
 * Appends the events to the run's trace. Ids continue from `baseId` or from the run's last id, whichever is later, so
 * that they strictly increase despite different clocks. Events beyond the limit are counted and dropped; they never
 * fail the run.
 */
export function withTrace(change: Change, baseId: string, now: number, limits: RunTraceLimits): Run {
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
  const updatedAt = momentIn(run, now);
  return { updatedAt, queuedAt: run.status === 'queued' ? (run.queuedAt ?? updatedAt) : null };
}

function entryOf(
  run: Run,
  event: RunTraceDraft,
  sequenceId: string,
  now: number,
  { messageLengthMax, redacted }: RunTraceLimits,
): TraceEntry {
  const message = event.message ?? null;
  return {
    sequenceId,
    type: event.type,
    at: momentIn(run, now),
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

/** Never splits a surrogate pair. */
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

/** The entries that the next write moves to a record of their own; empty while they fit the run. */
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
  'lease.returned',
  'wait.registered',
  'wait.resumed',
  'wait.timed_out',
]);

/** The end of the run and its requested cancellation: rare events that readers of a trace look for. */
const endTypes: ReadonlySet<string> = new Set([
  'run.cancellation_requested',
  'run.completed',
  'run.failed',
  'run.rejected',
]);

function roomFor(event: RunTraceDraft, { eventsPerRunMax }: RunTraceLimits): number {
  if (!isOwn(event)) return eventsPerRunMax;
  return endTypes.has(event.type) ? Number.POSITIVE_INFINITY : eventsPerRunMax + OWN_EVENTS_RESERVE;
}

/** Events of the runtime. Attempts and waits bound their number, unlike those of workers. */
function isOwn({ type, byWorker = false }: RunTraceDraft): boolean {
  return !byWorker && ownTypes.has(type);
}
