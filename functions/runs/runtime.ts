import type { BlobStore } from '../blobs/port.ts';
import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import type { ReadyRuns, RunQueue } from '../queue/port.ts';
import type { RecordStore, Scope } from '../store/port.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import type { ProductPolicies } from './product-policy.ts';
import type { QueuedRuns } from './queued-runs.ts';
import type { RunWatch } from './run-watch.ts';

/** Draws ordered ids (specification, Versioning 9): fixed-width decimal text in the order of generation. */
export interface IdSource {
  next(): string;
}

/** What the rules of runs are given. All limits are exact: what is at a limit passes, one more does not. */
export interface RuntimeOptions {
  readonly adapterId: string;
  readonly runtimeKind: string;
  /** Runs that may be queued, running or waiting at a time; `null` for as many as come. */
  readonly activeRunsMax: number | null;
  /** Jobs of the service that may be active at a time; `null` for any number. */
  readonly activeJobsMax: number | null;
  /** How many of them one product and tenant may have. */
  readonly jobShareMax: number;
  /** Records that share the count of active runs, so that starts need not queue for one. */
  readonly counterShards: number;
  readonly retainedRunsMax: number;
  readonly listLimitDefault: number;
  readonly listLimitMax: number;
  readonly historyLimitDefault: number;
  readonly historyLimitMax: number;
  readonly payloadBytesMax: number;
  readonly resultBytesMax: number;
  readonly artifactInlineBytesMax: number;
  readonly leaseExpirationsMax: number;
  /** Entries of one run's trace; what workers tell beyond them is counted and dropped. */
  readonly traceEventsPerRunMax: number;
  readonly artifactsPerRunMax: number;
  readonly concurrencyRetryDelayMs: number;
}

/** What the operations of the execution runtime work with. The store is opened by the first call that needs it. */
export interface Runtime {
  readonly store: () => Promise<RecordStore>;
  /** Where the runs lie: one for a deployment. */
  readonly scope: Scope;
  readonly world: World;
  readonly ids: IdSource;
  readonly registry: HandlerRegistry;
  readonly policies: ProductPolicies;
  readonly queue: RunQueue;
  /** Searches of this process over the queued runs. */
  readonly queuedRuns: QueuedRuns;
  /** Where workers and queue share a process; `null`: every call asks the store. */
  readonly ready: ReadyRuns | null;
  /** Where artifacts go that are too large to be kept inline; `null`: they are refused. */
  readonly blobs: (() => Promise<BlobStore>) | null;
  readonly log: Log;
  readonly options: RuntimeOptions;
  readonly watch: RunWatch;
  /** Whether somebody here looks after what time brings; where nobody does, whoever asks for work looks first. */
  readonly looksAfterTime: () => boolean;
  /** Tells a handler that this process executes that its run is to be cancelled. */
  readonly signalCancellation?: (runId: string) => void;
}
