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

/** The owner of a run; copied into its trace. */
export interface RunScope {
  readonly productId: string;
  readonly tenantId: string;
  /** The verified principal that started the run; `null` without one. */
  readonly serviceIdentity: string | null;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly initialDelaySeconds: number;
  readonly maxDelaySeconds: number;
  readonly backoffMultiplier: number;
}

/** A JSON value, inline or in a record of its own. */
export type StoredValue = { readonly json: Json } | RecordedValue;

interface RecordedValue {
  readonly record: string;
  /** Length of the JSON text. */
  readonly characters?: number;
  /** Selects one of successive values in the record; absent if the record never changes. */
  readonly version?: string;
}

export const NULL_VALUE: StoredValue = { json: null };

/** The active lease. The run keeps only the hash of the token. */
export interface RunLease {
  readonly kind: 'external' | 'process';
  readonly workerId: string;
  readonly tokenHash: string;
  readonly acquiredAt: number;
  readonly expiresAt: number;
}

/** The lease that ended last, so that its late holder gets a precise error. Removed when the run is leased again. */
export interface EndedLease {
  readonly workerId: string;
  readonly tokenHash: string;
  readonly how: 'completed' | 'suspended' | 'expired' | 'cancelled' | 'released';
  /** The wait that ended the lease, so that its repeat gets the same answer. */
  readonly wait?: { readonly id: string; readonly requestHash: string };
}

/** A write of the current lease that its worker has named. A repeat gets the same answer and writes nothing. */
export interface AnsweredWrite {
  readonly id: string;
  readonly requestHash: string;
  readonly at: number;
  /** Only of a wait. */
  readonly outcome?: WaitOutcome;
  /** Only of an artifact. */
  readonly artifactId?: string;
}

type WaitKind = 'external_event' | 'timer' | 'run';

/** Which wait it is: a handler that is executed again makes the same wait again. */
export interface WaitIdentity {
  readonly kind: WaitKind;
  readonly name: string;
  /** Only of a wait for any of several events: their names, sorted. */
  readonly names?: readonly string[];
  /** The child run; only for the kind `run`. */
  readonly runId?: string;
}

/** The wait of a parked run. */
export interface RunWait extends WaitIdentity {
  /** The time of the timer or the deadline of the event; `null` without one. */
  readonly dueAt: number | null;
  readonly registeredAt: number;
  /** Ordered id of the timer; only for the kind `timer`. */
  readonly timerId: string | null;
  /** Only for a timer. A large payload is in a record of its own. */
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

/**
 * The outcome of a wait, kept until the handler asks for the same wait again. Of several names, `name` is that of the
 * event. Of the kind `run` only `timed_out` is kept: a child's end is in its link.
 */
export interface WaitOutcome extends WaitIdentity {
  readonly outcome: 'external_event' | 'timer' | 'timed_out';
  readonly event: InboxEvent | null;
  readonly timer: RunTimer | null;
}

/** A stored trace event. Members that all events of a run share are added when it is read. */
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

/** Progress of a run; the names are the specification's. */
export interface Progress {
  readonly requested: number | null;
  readonly attempted: number | null;
  readonly succeeded: number | null;
  readonly failed: number | null;
  readonly progress: number | null;
  readonly currentStep: string | null;
}

/**
 * A stored run. It contains everything that a decision needs, so that each transition is one transaction over one
 * record. Times are milliseconds since 1970.
 */
export interface Run extends Progress {
  /** Ordered id. */
  readonly id: string;
  readonly handlerId: string;
  readonly pluginId: string | null;
  /** Id of the operation that admitted the run. */
  readonly operationId: string;
  readonly status: RunStatus;
  /** Number of leases so far. */
  readonly attempt: number;
  /** Number of results `failed` and `timed_out` so far, which the retry budget counts. */
  readonly failures: number;
  /** Number of leases that expired without a completion since the run last made progress: a checkpoint or a wait. */
  readonly leaseExpirations: number;
  readonly retryPolicy: RetryPolicy;
  /** Version of the handler that the last lease named; absent if it named none. */
  readonly handlerVersion?: string;
  /** Hexadecimal SHA-256 of the idempotency key. */
  readonly keyHash: string | null;
  readonly correlationId: string;
  readonly scope: RunScope | null;
  readonly payloadHash: string;
  readonly payload: StoredValue;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly scheduledAt: number | null;
  /** When the run was queued, regardless of later writes; `null` or absent if it is not queued. */
  readonly queuedAt?: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly cancellationRequested: boolean;
  /** The holder of a job has begun to write data that others see, so that a cancellation has no effect any more. */
  readonly decided?: true;
  readonly failureClass: string | null;
  readonly error: string | null;
  readonly result: StoredValue;
  readonly statusDetails: JsonObject | null;
  readonly lease: RunLease | null;
  readonly endedLease: EndedLease | null;
  /** The key under which the run was leased last: its handler's, or the slot of its start key. */
  readonly concurrencyKey: string | null;
  /** The concurrency key of the start request; absent without one. */
  readonly startKey?: string;
  /** The queued run waits for a place of its start key, and no worker finds it. */
  readonly waitsForKey?: true;
  /** Until when later starts with the key may put the run off; absent unless the start asked for a quiet time. */
  readonly quietBy?: number;
  readonly wait: RunWait | null;
  readonly outcomes: readonly WaitOutcome[];
  /**
   * The outcome that the holder received last. It is given again after a lost lease or a failed attempt, unless the
   * holder has written a checkpoint or asked for the next wait since.
   */
  readonly taken: WaitOutcome | null;
  /** The newest writes of the current lease that have a name; absent without one. */
  readonly answered?: readonly AnsweredWrite[];
  readonly inbox: readonly InboxEvent[];
  /** The newest entries of the trace; older ones are in records of their own. */
  readonly trace: readonly TraceEntry[];
  /** The last sequence id; empty before the first. */
  readonly lastSequenceId: string;
  /** Number of trace entries, including dropped ones. */
  readonly traced: number;
  readonly traceDropped: number;
  /** Number of artifacts. */
  readonly artifacts: number;
  /** Bytes of the artifacts; absent before the first one, and in runs of releases before 0.6.0. */
  readonly artifactBytes?: number;
  /** Whether the run counts against the ceiling of active runs, a job against that of active jobs. */
  readonly counted: boolean;
  /** Whether it also counts against the share of its product and tenant. Runs of releases before 0.6.0 do not. */
  readonly sharesCounted?: true;
  /** The shard in which the run's share is counted. Runs without it are counted in the shard of the settings. */
  readonly shareShard?: number;
  /** Absent unless an operation of the service admitted the run as a job. */
  readonly job?: RunJob;
  /** The run that started this one as its child. */
  readonly parentId?: string;
  /** Number of children that the run has started; absent before the first. */
  readonly children?: number;
  /** Number of checkpoints that the start gave; absent without any. */
  readonly firstCheckpoints?: number;
  /** Time of the handler after the request of a cancellation; absent unless its cancellation is cooperative. */
  readonly cancelGraceMs?: number;
  /** When a run with a cooperative cancellation ends at the latest; absent before the request. */
  readonly cancelBy?: number;
}

/** Whether admission refused the run. A handler may also end its run as `rejected`, but that run was leased before. */
export function wasRefused({ status, attempt }: Pick<Run, 'status' | 'attempt'>): boolean {
  return status === 'rejected' && attempt === 0;
}

/**
 * Whether the run ends as cancelled after its holder has ended. A server of release 0.5.0 does not know that a run may
 * be decided.
 */
export function isBeingCancelled({ cancellationRequested, decided }: Run): boolean {
  return cancellationRequested && decided !== true;
}

/** The result of a rule: the changed run and its new trace events. */
export interface Change {
  readonly run: Run;
  readonly events: readonly RunTraceDraft[];
}

/** A trace entry without its sequence id. */
export interface RunTraceDraft {
  readonly type: string;
  readonly severity?: string;
  readonly message?: string | null;
  readonly details?: JsonObject | null;
  readonly workerId?: string | null;
  /** Whether a worker sent the event and chose its type; otherwise the runtime wrote it. */
  readonly byWorker?: boolean;
}
