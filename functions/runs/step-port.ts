import type { Json } from '../kernel/canonical-json.ts';

/**
 * The calls with which the step kit executes its handlers in this process. A plugin brings the kit in its own bundle, so both sides know
 * each other by these members alone. A call that parks the run throws `RunSuspended`.
 */
export interface StepCalls extends StepClock {
  /** Whether the next failure of the run is final. */
  readonly isLastAttempt: boolean;
  /** Whether authors get advice. */
  readonly isDevelopment: boolean;
  /** The most names of one wait for events. */
  readonly eventsMax: number;
  /** `null` without a checkpoint of that key. */
  read(key: string): Promise<Json | null>;
  /** Stores a checkpoint. The event is added to the history in the same transaction. */
  write(checkpoint: StepWrite, event: StepEvent | null): Promise<void>;
  timer(name: string, fireAt: number): Promise<void>;
  /** The first event of one of the names, or `null` after `until`. */
  event(names: readonly string[], until: number | null): Promise<TakenEvent | null>;
  /** The id of the child. A repeat with the key, also in a later attempt, starts no second one. */
  startChild(child: StepChild): Promise<string>;
  /** `null` while the child has not ended. */
  childOutcome(runId: string): Promise<StepChildOutcome | null>;
  /** Parks the run until the child has ended; `null` after `until`. */
  waitForChild(runId: string, name: string, until: number | null): Promise<StepChildOutcome | null>;
  /** A transaction of the canonical store, with the rights of the plugin. */
  commit(tenantId: string, request: object): Promise<unknown>;
  record(event: StepEvent): Promise<void>;
  log(level: 'info' | 'warning', message: string, error?: unknown): void;
  /** Why the signal of the context is aborted. */
  stopKind(): StopKind;
  /** An error that ends the attempt. */
  failure(ending: StepFailure): Error;
  /**
   * An error that ends the attempt without a result. A run whose cancellation is cooperative is executed again, to undo its work; another
   * cancelled one ends.
   */
  givenBack(): Error;
}

export type StopKind = 'cancelled' | 'lease_lost' | 'stopping';

interface StepClock {
  /** Milliseconds since 1970. */
  now(): number;
  after(delayMs: number, callback: () => void): () => void;
  /** Unpredictable bytes. */
  drawBytes(size: number): Uint8Array;
}

interface StepWrite {
  readonly key: string;
  readonly content: unknown;
  readonly metadata: Readonly<Record<string, string>>;
}

interface StepEvent {
  readonly type?: string;
  readonly message?: string;
  readonly severity?: string;
  readonly details?: { readonly [member: string]: Json };
}

interface TakenEvent {
  readonly name: string;
  readonly payload: Json;
}

interface StepChild {
  readonly handlerId: string;
  readonly payload: Json;
  readonly idempotencyKey: string;
  readonly cancelWithParent?: boolean;
}

export type StepChildOutcome =
  | { readonly status: 'succeeded'; readonly result: Json }
  | { readonly status: string; readonly failureClass: string | null; readonly error: string | null };

interface StepFailure {
  readonly failureClass: string;
  readonly message: string;
  readonly status: 'failed' | 'timed_out' | 'rejected';
  /** `false`: no retry follows, for every class. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}
