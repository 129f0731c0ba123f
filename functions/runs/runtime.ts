import type { BlobStore } from '../blobs/port.ts';
import type { Log } from '../kernel/log.ts';
import type { QuotaLimit } from '../kernel/quota.ts';
import type { WaitingPlaces } from '../kernel/waiting-places.ts';
import type { World } from '../kernel/world.ts';
import type { ReadyRuns, RunQueue } from '../queue/port.ts';
import type { RecordStore, Scope } from '../store/port.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import type { ProductPolicies } from './product-policy.ts';
import type { QueuedRuns } from './queued-runs.ts';
import type { RecentScopes } from './recent-scopes.ts';
import type { RefusedRuns } from './refused-runs.ts';
import type { Run } from './run.ts';
import type { RunWatch } from './run-watch.ts';
import type { ScopeIndexState } from './scope-index-state.ts';
import type { StartAccess } from './start-access.ts';
import type { WorkerHandlers } from './worker-handlers.ts';

/** Draws ordered ids (specification, Versioning 9): fixed-width decimal text in the order of generation. */
interface IdSource {
  next(): string;
}

/** The bounds of active runs and jobs: of the deployment, and of one product and tenant or one space. */
export type CeilingName = 'runs' | 'runShare' | 'jobs' | 'jobShare';

/** Limits of the run engine. A value at its limit is accepted. */
export interface RuntimeOptions {
  readonly adapterId: string;
  readonly runtimeKind: string;
  /** Ceiling of runs that are queued, running or waiting; `null` for no ceiling. */
  readonly activeRunsMax: number | null;
  /** Jobs of the service that may be active at a time; `null` for any number. */
  readonly activeJobsMax: number | null;
  /** How many of them one product and tenant may have. */
  readonly jobShareMax: number;
  /** Active runs that one product and tenant may have. */
  readonly runShareMax: number;
  /** The names of the settings of these ceilings, for the message of a refusal. */
  readonly ceilingSettings: Readonly<Record<CeilingName, string>>;
  /** Number of counter records that share the ceiling, so that starts do not contend for one. */
  readonly counterShards: number;
  /** Terminal runs that prune keeps of each product and tenant. */
  readonly retainedRunsMax: number;
  /** Automatic pruning spares runs that ended less than this ago. */
  readonly retainedAgeMsMin: number;
  readonly listLimitDefault: number;
  readonly listLimitMax: number;
  readonly historyLimitDefault: number;
  readonly historyLimitMax: number;
  readonly payloadBytesMax: number;
  readonly resultBytesMax: number;
  readonly artifactInlineBytesMax: number;
  readonly leaseExpirationsMax: number;
  /** Trace entries of one run. Further events of workers are counted and dropped. */
  readonly traceEventsPerRunMax: number;
  readonly artifactsPerRunMax: number;
  /** Bytes of all artifacts of one run. */
  readonly runArtifactBytes: QuotaLimit;
  readonly concurrencyRetryDelayMs: number;
  /** Whether a run keeps the message of an error that its handler threw. Only in Development: it may quote stored data. */
  readonly showsHandlerErrors: boolean;
}

/** Dependencies of every operation on runs. The first call that needs the store opens it. */
export interface Runtime {
  readonly store: () => Promise<RecordStore>;
  /** The scope of all runs of the deployment. */
  readonly scope: Scope;
  readonly world: World;
  readonly ids: IdSource;
  readonly registry: HandlerRegistry;
  readonly workerHandlers: WorkerHandlers;
  readonly policies: ProductPolicies;
  readonly queue: RunQueue;
  /** Searches of this process over the queued runs. */
  readonly queuedRuns: QueuedRuns;
  /** Ready runs of the local queue; `null` if every call searches the store. */
  readonly ready: ReadyRuns | null;
  /** Blob store for large artifacts; `null` if the deployment refuses them. */
  readonly blobs: (() => Promise<BlobStore>) | null;
  readonly log: Log;
  /** Receives the failures of handlers and of upkeep. */
  readonly saw?: (error: unknown) => void;
  readonly options: RuntimeOptions;
  readonly watch: RunWatch;
  /** Wakes the calls that wait for one run to be queued. */
  readonly queuedWatch: RunWatch;
  /** The places of the lease calls that wait for a run. */
  readonly leasePlaces: WaitingPlaces;
  readonly scopes: RecentScopes;
  readonly refused: RefusedRuns;
  readonly scopeIndex: ScopeIndexState;
  /** Whether this process settles due runs. Otherwise each call that asks for a run settles them first. */
  readonly settlesDueRuns: () => boolean;
  /** Decides whether the principal of a parent may start a child; absent or `null` without identity policies. */
  readonly access?: StartAccess | null;
  /** A transaction of the canonical store for a handler of this process; absent where it makes none. */
  readonly commit?: (run: Run, tenantId: string, request: object) => Promise<unknown>;
  /** Signals the cancellation to a handler that this process executes. */
  readonly signalCancellation?: (runId: string) => void;
}
