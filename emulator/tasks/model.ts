/** The stored state of a queue and its tasks. Times are milliseconds, with fractions as in the protocol. */

export interface RateLimits {
  readonly maxDispatchesPerSecond: number;
  readonly maxBurstSize: number;
  readonly maxConcurrentDispatches: number;
}

export interface RetryRules {
  /** -1 for no limit. */
  readonly maxAttempts: number;
  /** 0 for no limit. */
  readonly maxRetryDurationMs: number;
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxDoublings: number;
}

export interface QueueRecord {
  readonly name: string;
  readonly state: 'RUNNING' | 'PAUSED';
  readonly rateLimits: RateLimits;
  readonly retry: RetryRules;
  /** Stored and returned only; nothing is logged by it. */
  readonly loggingRatio: number | null;
  readonly purgedAt: number | null;
}

export interface TargetRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly oidcToken: { readonly serviceAccountEmail: string; readonly audience: string } | null;
  /** Absent: the default counts. */
  readonly dispatchDeadlineMs: number | null;
}

export interface AttemptOutcome {
  /** Absent if no response came. */
  readonly httpStatus: number | null;
  readonly code: number;
  readonly message: string;
}

export interface TaskAttempt {
  readonly scheduledAt: number;
  readonly dispatchedAt: number;
  /** Absent while the attempt is active. */
  readonly ended: { readonly at: number; readonly outcome: AttemptOutcome } | null;
}

/** The part of a task that changes. */
export interface TaskProgress {
  readonly scheduledAt: number;
  readonly attempts: number;
  readonly responses: number;
  /** Responses except 5xx, which may come from a proxy before the handler. */
  readonly executions: number;
  readonly firstDispatchedAt: number | null;
  readonly lastAttempt: TaskAttempt | null;
}

export interface TaskRecord {
  readonly name: string;
  /** Greater than the number of every task created earlier. */
  readonly number: number;
  readonly createdAt: number;
  readonly request: TargetRequest;
  readonly progress: TaskProgress;
}
