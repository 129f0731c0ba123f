import type { ExecutionRun, JsonValue } from '../../generated/models.ts';
import type { RunContext, RunEvent } from '../context.ts';
import type { Entry } from './entries.ts';
import type { SegmentWrite } from './journal.ts';

/** The calls that steps make, so that their rules know no protocol. Optional members need a newer server. */
export interface StepPort {
  /** The run at the time of the lease. `isLastAttempt`: its next failure is final. */
  readonly run: ExecutionRun & { readonly isLastAttempt?: boolean };
  readonly signal: AbortSignal;
  readonly clock: StepClock;
  /** `null` without a checkpoint of that key. */
  readonly read: (key: string) => Promise<JsonValue | null>;
  /** Aborted when no call can be made any more; `signal` also when the run is to be cancelled. */
  readonly over?: AbortSignal;
  /** Whether authors get advice. */
  readonly isDevelopment?: boolean;
  /** Segments that came with the lease, by key; `null` for one that does not exist. */
  readonly given?: ReadonlyMap<string, JsonValue | null>;
  /** `news`: entries that are settled since the last write, for the history of the run. */
  readonly write: (write: CheckpointOf, news: readonly Entry[]) => Promise<void>;
  readonly timer: (name: string, fireAt: number) => Promise<void>;
  /** The event, or `null` after `until`. It has at most `eventsMax` names. */
  readonly event: (names: readonly string[], until: number | null) => Promise<TakenEvent | null>;
  readonly eventsMax: number;
  readonly children?: ChildPort;
  readonly commit?: (tenantId: string, request: object) => Promise<unknown>;
  /** Ends the attempt without a result. A run that is cancelled cooperatively is leased again, another one ends. */
  readonly giveBack?: () => void;
  readonly record: (event: RunEvent) => Promise<void>;
  readonly log: (level: 'info' | 'warning', message: string, error?: unknown) => void;
  readonly context: RunContext;
}

type CheckpointOf = Pick<SegmentWrite, 'key' | 'metadata'> & { readonly content: unknown };

export interface TakenEvent {
  readonly name: string;
  readonly payload: JsonValue;
}

/** Time and chance. */
interface StepClock {
  readonly now: () => number;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly after: (delayMs: number, callback: () => void) => () => void;
}

export interface ChildRequest {
  readonly handlerId: string;
  readonly payload: JsonValue;
  /** A repeat with the key starts no second run. */
  readonly idempotencyKey: string;
  readonly cancelWithParent?: boolean;
}

export interface ChildOutcome {
  readonly status: string;
  readonly result?: JsonValue;
  readonly failureClass?: string | null;
  readonly error?: string | null;
}

export interface ChildPort {
  /** The id of the run. */
  readonly start: (request: ChildRequest) => Promise<string>;
  /** `null` while it has not ended. */
  readonly outcome: (runId: string) => Promise<ChildOutcome | null>;
  /**
   * The outcome, or `null` after `until`. Parks the run until then, and asks once where it has passed. The status `unknown`: not
   * started by this run under its lease. Without this call the kit asks for `outcome` again and again.
   */
  readonly wait?: (runId: string, name: string, until: number | null) => Promise<ChildOutcome | null>;
}
