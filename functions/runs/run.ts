import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import type { RunJob } from './run-job.ts';

/** The statuses of the specification, section States and transitions. */
export type RunStatus =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  | 'rejected'
  | 'timed_out';

export type TerminalStatus = 'succeeded' | 'failed' | 'cancelled' | 'rejected' | 'timed_out';

const terminal: ReadonlySet<string> = new Set<TerminalStatus>([
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
]);

export function isTerminal(status: string): status is TerminalStatus {
  return terminal.has(status);
}

/** Whose run it is; copied into its trace. */
export interface RunScope {
  readonly productId: string;
  readonly tenantId: string;
  /** The verified principal that started the run, `null` where nobody was verified. */
  readonly serviceIdentity: string | null;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly initialDelaySeconds: number;
  readonly maxDelaySeconds: number;
  readonly backoffMultiplier: number;
}

/** A JSON value that is either here, or, where it is large, in a record of its own. */
export type StoredValue = { readonly json: Json } | RecordedValue;

export interface RecordedValue {
  readonly record: string;
  /** How long its JSON text is. */
  readonly characters?: number;
  /** Which of the values that the record held is meant; absent where the record never changes. */
  readonly version?: string;
}

export const NULL_VALUE: StoredValue = { json: null };

/** Who works on a run now. Only the hash of the token is kept. */
export interface RunLease {
  readonly kind: 'external' | 'process';
  readonly workerId: string;
  readonly tokenHash: string;
  readonly acquiredAt: number;
  readonly expiresAt: number;
}

/** The lease that ended last, so that its late holder hears what became of it. Gone once the run is leased again. */
export interface EndedLease {
  readonly workerId: string;
  readonly tokenHash: string;
  readonly how: 'completed' | 'suspended' | 'expired' | 'cancelled';
}

export type WaitKind = 'external_event' | 'timer';

/** What a run is parked on. */
export interface RunWait {
  readonly kind: WaitKind;
  readonly name: string;
  /** The timer's moment, or the event's deadline; `null` where the wait has none. */
  readonly dueAt: number | null;
  readonly registeredAt: number;
  /** Ordered id of the timer, for the kind `timer`. */
  readonly timerId: string | null;
  /** Of a timer; a large one is kept beside the run, which carries all its waits with it. */
  readonly payload: StoredValue;
}

export interface InboxEvent {
  readonly id: string;
  readonly name: string;
  readonly raisedAt: number;
  readonly payload: StoredValue;
}

export interface RunTimer<Payload = StoredValue> {
  readonly id: string;
  readonly name: string;
  readonly fireAt: number;
  readonly createdAt: number;
  readonly payload: Payload;
}

/** How a wait ended; kept until the same wait is asked for again, and then taken. */
export interface WaitOutcome {
  readonly kind: WaitKind;
  readonly name: string;
  readonly outcome: 'external_event' | 'timer' | 'timed_out';
  readonly event: InboxEvent | null;
  readonly timer: RunTimer | null;
}

/** One thing that happened to a run, as it is kept; what all events of a run share is added when they are read. */
export interface TraceEntry {
  readonly sequenceId: string;
  readonly type: string;
  readonly at: number;
  readonly attempt: number;
  readonly status: RunStatus;
  readonly severity: string;
  readonly message: string | null;
  readonly details: JsonObject | null;
  readonly workerId: string | null;
}

/** What handlers report of their progress; the names are the specification's. */
export interface Progress {
  readonly requested: number | null;
  readonly attempted: number | null;
  readonly succeeded: number | null;
  readonly failed: number | null;
  readonly progress: number | null;
  readonly currentStep: string | null;
}

/**
 * A run as it is stored: everything that one decision about it needs, so that each transition is one transaction over one
 * record. Moments are milliseconds since 1970.
 */
export interface Run extends Progress {
  /** Ordered id. */
  readonly id: string;
  readonly handlerId: string;
  readonly pluginId: string | null;
  /** The operation of the contract that admitted it. */
  readonly operationId: string;
  readonly status: RunStatus;
  /** How often it was leased. */
  readonly attempt: number;
  /** Results `failed` and `timed_out` so far: what the retry budget counts. */
  readonly failures: number;
  /** Leases that ran out without a word from their holder. */
  readonly leaseExpirations: number;
  readonly retryPolicy: RetryPolicy;
  /** Bare hexadecimal SHA-256 of the idempotency key. */
  readonly keyHash: string | null;
  readonly correlationId: string;
  readonly scope: RunScope | null;
  readonly payloadHash: string;
  readonly payload: StoredValue;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly scheduledAt: number | null;
  /** Since when it is queued, whatever was written to it meanwhile; `null` or absent while it is not. */
  readonly queuedAt?: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly cancellationRequested: boolean;
  readonly failureClass: string | null;
  readonly error: string | null;
  readonly result: StoredValue;
  readonly statusDetails: JsonObject | null;
  readonly lease: RunLease | null;
  readonly endedLease: EndedLease | null;
  /** Runs that share a concurrency key run one after another. */
  readonly concurrencyKey: string | null;
  readonly wait: RunWait | null;
  readonly outcomes: readonly WaitOutcome[];
  /**
   * The outcome that the holder was given last, until it has kept a checkpoint or asked for the next wait: given again where
   * its lease is lost, or its attempt failed, before it could.
   */
  readonly taken: WaitOutcome | null;
  readonly inbox: readonly InboxEvent[];
  /** The newest entries of the trace; older ones are in records of their own. */
  readonly trace: readonly TraceEntry[];
  /** The last sequence id given, empty before the first. */
  readonly lastSequenceId: string;
  /** Entries of the trace in all, kept and dropped. */
  readonly traced: number;
  readonly traceDropped: number;
  /** How many artifacts it has. */
  readonly artifacts: number;
  /** Whether the run counts against the ceiling of active runs, a job against that of active jobs. */
  readonly counted: boolean;
  /** Absent unless an operation of the service admitted the run as a job. */
  readonly job?: RunJob;
}

/** What a rule made of a run, and what is to be told of it. */
export interface Change {
  readonly run: Run;
  readonly events: readonly TraceDraft[];
}

/** A trace entry before it has its place in the run's sequence. */
export interface TraceDraft {
  readonly type: string;
  readonly severity?: string;
  readonly message?: string | null;
  readonly details?: JsonObject | null;
  readonly workerId?: string | null;
  /** Told by whoever works on the run, under a type of his choice; else it is the runtime's own. */
  readonly byWorker?: boolean;
}
