import { hash } from 'node:crypto';
import { parseJson } from '../kernel/json-text.ts';
import { type OwnedCollection, SERVICE_DATA, TENANT_DATA } from '../store/ownership.ts';
import { type Head, type RecordData, type RecordKey, type Scope, StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { isTerminal, type Run, type RunScope, type TraceEntry, wasRefused } from './run.ts';
import { jobList, jobOwner, keyOwner, type OwnedRun, type RunJob } from './run-job.ts';

/**
 * Collections, keys and records of the run engine. One record contains everything that a decision about a run needs.
 */
export const RUNS: OwnedCollection = { name: 'runs', pairedIndexes: false, ...TENANT_DATA };
/** Used idempotency keys, each with its run. */
export const ADMISSIONS: OwnedCollection = { name: 'admissions', pairedIndexes: false, ...TENANT_DATA };
/** Payloads, results and events that are too large to be rewritten with every change of their run. */
export const VALUES: OwnedCollection = { name: 'values', pairedIndexes: false, ...TENANT_DATA };
/** Older parts of traces. */
export const RUN_TRACE_PARTS: OwnedCollection = { name: 'traces', pairedIndexes: false, ...TENANT_DATA };
export const ARTIFACTS: OwnedCollection = { name: 'artifacts', pairedIndexes: false, ...TENANT_DATA };
export const CHECKPOINTS: OwnedCollection = { name: 'checkpoints', pairedIndexes: false, ...TENANT_DATA };
/** Run-owned leases. */
export const LEASES: OwnedCollection = { name: 'leases', pairedIndexes: false, ...TENANT_DATA };
/** Recorded timers that no run waits for. */
export const TIMERS: OwnedCollection = { name: 'timers', pairedIndexes: false, ...TENANT_DATA };
/** Links of runs to their children, with the outcomes of these. */
export const CHILDREN: OwnedCollection = { name: 'children', pairedIndexes: false, ...TENANT_DATA };
/**
 * The holders of each concurrency key; a run has a place only around its lease, so a restored run has none. Also which run later
 * starts may replace: after a restore they start new ones.
 */
export const SLOTS: OwnedCollection = {
  name: 'slots',
  pairedIndexes: false,
  owner: 'tenant',
  copies: 'none',
};
/** Counts of active runs, which a restore makes from the runs, and how far the service is with its own upkeep. */
export const COUNTERS: OwnedCollection = { name: 'counters', pairedIndexes: false, ...SERVICE_DATA };

/** Removed runs whose records are not all cleared yet. */
export const REMAINS: OwnedCollection = { name: 'remains', pairedIndexes: false, ...SERVICE_DATA };

/** The collections that a provider must prepare when it opens. */
export const executionCollections: readonly OwnedCollection[] = [
  RUNS,
  ADMISSIONS,
  VALUES,
  RUN_TRACE_PARTS,
  ARTIFACTS,
  CHECKPOINTS,
  LEASES,
  TIMERS,
  CHILDREN,
  SLOTS,
  COUNTERS,
  REMAINS,
];

/** One scope for the deployment: lists and workers span products and tenants. */
export const EXECUTION_SCOPE: Scope = { kind: 'system', name: 'execution' };

/** How far the service has read its stored bodies again. */
export const BODY_CHECK: RecordKey = { collection: COUNTERS.name, id: recordId('body-check') };

export const RUN_GROUP = 'run';

/**
 * Indexes that an earlier release does not know. Its servers derive the indexes again with each change, from the tags in the
 * body among others: a stored run therefore also has these indexes as tags, so that such a change keeps them.
 */
const CARRIED = {
  scope: 'svc.index.scope',
  product: 'svc.index.product',
  jobs: 'svc.index.jobs',
  jobSubject: 'svc.index.job-subject',
  handlerVersion: 'svc.index.handler-version',
} as const;
const CARRIED_TAGS: ReadonlySet<string> = new Set(Object.values(CARRIED));

/** Indexes of lists and workers. `lane` exists only while a run is queued and waits for no key. */
export const RUN_INDEX = {
  handler: 'handler',
  plugin: 'plugin',
  status: 'status',
  lane: 'lane',
  /** Only queued runs that wait for their key have it: it names the slot. */
  waits: 'waits',
  correlation: 'correlation',
  key: 'key',
  /** Names product and tenant; absent without a scope, as `product` is. Runs of releases before 0.6.0 get both later. */
  scope: tagIndex(CARRIED.scope),
  product: tagIndex(CARRIED.product),
  /** Only runs that admission refused have it: it names their owner. */
  refused: 'refused',
  /** Only jobs have these: one value names family and space, the other the subject too. */
  jobs: tagIndex(CARRIED.jobs),
  jobSubject: tagIndex(CARRIED.jobSubject),
  /** Only runs whose last lease named a version have it. */
  handlerVersion: tagIndex(CARRIED.handlerVersion),
} as const;

export function tagIndex(name: string): string {
  return recordId('tag', name);
}

export function runKey(runId: string): RecordKey {
  return { collection: RUNS.name, id: recordId(runId) };
}

/** Hexadecimal SHA-256. The idempotency key itself is not stored. */
export function keyHashOf(idempotencyKey: string): string {
  return hash('sha256', idempotencyKey, 'hex');
}

/** Idempotency keys are unique within one product and tenant. The hash is used, because the run stores only that. */
export function admissionKey({ scope, job }: OwnedRun, keyHash: string): RecordKey {
  const scoped = scope === null ? [keyHash] : [scope.productId, scope.tenantId, keyHash];
  // Keys of jobs have a space of their own: five parts, which the keys of other runs never have.
  const parts = job === undefined ? scoped : ['job', keyOwner(scope, job), job.space, job.family, keyHash];
  return { collection: ADMISSIONS.name, id: recordId(...parts) };
}

/** The run's admission record, to remove it with the run; `null` for a run without an idempotency key. */
export function admissionOfRun(run: Run): RecordKey | null {
  return run.keyHash === null ? null : admissionKey(run, run.keyHash);
}

export function valueKey(record: string): RecordKey {
  return { collection: VALUES.name, id: record };
}

export function runTraceKey(runId: string, firstSequenceId: string): RecordKey {
  return { collection: RUN_TRACE_PARTS.name, id: recordId(runId, firstSequenceId) };
}

export function artifactKey(runId: string, artifactId: string): RecordKey {
  return { collection: ARTIFACTS.name, id: recordId(runId, artifactId) };
}

export function checkpointKey(runId: string, key: string): RecordKey {
  return { collection: CHECKPOINTS.name, id: recordId(runId, key) };
}

/** Names of run-owned leases belong to one product and tenant. */
export function leaseRecordKey(name: string, scope: Run['scope']): RecordKey {
  const parts = scope === null ? [name] : [scope.productId, scope.tenantId, name];
  return { collection: LEASES.name, id: recordId(...parts) };
}

export function timerRecordKey(runId: string, timerId: string): RecordKey {
  return { collection: TIMERS.name, id: recordId(runId, timerId) };
}

/** Lists the active children that are cancelled with their parent. */
export const CASCADE_INDEX = 'cascade';

export function childLinkKey(parentId: string, childId: string): RecordKey {
  return { collection: CHILDREN.name, id: recordId(parentId, 'run', childId) };
}

/** The child that a start of this name has made. */
export function childNameKey(parentId: string, writeId: string): RecordKey {
  return { collection: CHILDREN.name, id: recordId(parentId, 'write', writeId) };
}

/** Exists while children of a cancelled run may still have to be cancelled. */
export function cascadeKey(parentId: string): RecordKey {
  return { collection: CHILDREN.name, id: recordId(parentId, 'cascade') };
}

/** A run, or the request for one, with the key of its start. */
type KeyedStart = Pick<Run, 'handlerId' | 'startKey'> & {
  readonly scope: Pick<RunScope, 'productId' | 'tenantId'> | null;
};

export function slotKey(concurrencyKey: string): RecordKey {
  return { collection: SLOTS.name, id: recordId(concurrencyKey) };
}

/** The name of the slot of a start key. It belongs to one handler, and to one product and tenant. */
export function startSlotOf({ handlerId, scope, startKey = '' }: KeyedStart): string {
  const owner = scope === null ? [] : [scope.productId, scope.tenantId];
  return recordId('start-key', handlerId, startKey, ...owner);
}

/** Names the run that later starts with the key may still replace. */
export function quietKey(start: KeyedStart): RecordKey {
  return { collection: SLOTS.name, id: recordId('quiet', startSlotOf(start)) };
}

export function remainsKey(runId: string): RecordKey {
  return { collection: REMAINS.name, id: recordId(runId) };
}

export function activeCounterKey(shard: number): RecordKey {
  return { collection: COUNTERS.name, id: recordId('active-runs', String(shard)) };
}

export function jobCounterKey(shard: number): RecordKey {
  return { collection: COUNTERS.name, id: recordId('active-jobs', String(shard)) };
}

/** Counts the active jobs of one owner, so that no owner takes the room of all others. */
export function jobShareKey(owner: string): RecordKey {
  return { collection: COUNTERS.name, id: recordId('active-jobs-of', owner) };
}

/** Counts the active runs of one product and tenant. */
export function runShareKey(scope: Pick<RunScope, 'productId' | 'tenantId'>, shard: number): RecordKey {
  return { collection: COUNTERS.name, id: recordId('active-runs-of', scopeValue(scope), String(shard)) };
}

/** The index value that finds the runs of a product and tenant. */
export function scopeValue({ productId, tenantId }: Pick<RunScope, 'productId' | 'tenantId'>): string {
  return recordId('run-scope', productId, tenantId);
}

/** The index value that finds the runs of a product. */
export function productValue(productId: string): string {
  return recordId('run-product', productId);
}

/** The owner whose retention limit a run counts against: its product and tenant, and for a job its space. */
export function retentionOwner({ scope, job }: OwnedRun): string {
  if (job !== undefined) return jobOwner(job);
  return scope === null ? 'runs' : scopeValue(scope);
}

/** The counter shard of a run. It follows from the id alone, so that every process that ends the run finds it. */
export function shardOf(runId: string, shards: number): number {
  return shards === 1 ? 0 : (Number(runId.slice(-9)) % 7919) % shards;
}

/** The complete record of the run. */
export function runRecord(run: Run): RecordData {
  return {
    key: runKey(run.id),
    head: runHead(run),
    body: JSON.stringify({ ...run, tags: { ...run.tags, ...carriedTags(run) } }),
    listing: { group: RUN_GROUP, id: run.id, hidden: false, indexes: runIndexes(run) },
    due: dueOf(run),
  };
}

/** A record with the new expiry of the lease only; the stored body stays. */
export function heartbeatRecord(run: Run): RecordData {
  return { key: runKey(run.id), head: runHead(run), due: dueOf(run) };
}

function runHead(run: Run): Head {
  return {
    id: run.id,
    status: run.status,
    handlerId: run.handlerId,
    attempt: run.attempt,
    leaseExpiresAt: run.lease?.expiresAt ?? null,
  };
}

function runIndexes(run: Run): Record<string, string> {
  const indexes: Record<string, string> = {
    [RUN_INDEX.handler]: run.handlerId,
    [RUN_INDEX.status]: run.status,
  };
  const lane = laneOf(run);
  if (lane !== undefined) indexes[RUN_INDEX.lane] = lane;
  if (run.status === 'queued' && lane === undefined) indexes[RUN_INDEX.waits] = startSlotOf(run);
  if (run.pluginId !== null) indexes[RUN_INDEX.plugin] = run.pluginId;
  // Without a correlation id the run's own id counts, and the run is found by that anyway.
  if (run.correlationId !== run.id) indexes[RUN_INDEX.correlation] = run.correlationId;
  if (run.keyHash !== null) indexes[RUN_INDEX.key] = run.keyHash;
  if (wasRefused(run)) indexes[RUN_INDEX.refused] = retentionOwner(run);
  const tags = { ...run.tags, ...carriedTags(run) };
  for (const [name, value] of Object.entries(tags)) indexes[tagIndex(name)] = value;
  return indexes;
}

/** The lane in which workers find the run: none unless it is queued, and none while it waits for its key. */
export function laneOf({ status, handlerId, waitsForKey, startKey }: Run): string | undefined {
  const waits = waitsForKey === true && startKey !== undefined;
  return status === 'queued' && !waits ? handlerId : undefined;
}

function carriedTags({ scope, job, handlerVersion }: Run): Readonly<Record<string, string>> {
  const owned = {
    ...(scope === null
      ? {}
      : { [CARRIED.scope]: scopeValue(scope), [CARRIED.product]: productValue(scope.productId) }),
    ...(handlerVersion === undefined ? {} : { [CARRIED.handlerVersion]: handlerVersion }),
  };
  return job === undefined ? owned : { ...owned, ...jobTags(job) };
}

function jobTags({ family, space, subject }: RunJob): Record<string, string> {
  const all = { [CARRIED.jobs]: jobList(family, space, null) };
  return subject === null ? all : { ...all, [CARRIED.jobSubject]: jobList(family, space, subject) };
}

function withoutCarriedTags(run: Run): Run {
  const tags = Object.entries(run.tags);
  const own = tags.filter(([name]) => !CARRIED_TAGS.has(name));
  return own.length === tags.length ? run : { ...run, tags: Object.fromEntries(own) };
}

/**
 * The time of the run's next scheduled change: a schedule, a retry, a timer, a deadline or the end of a lease. Queued
 * runs wait for a worker, and waits without a deadline for their event.
 */
export function dueOf(run: Run): number | null {
  if (run.status === 'running') return run.lease?.expiresAt ?? run.updatedAt;
  // A queued run with a requested cancellation ends, even if no worker comes.
  if (run.status === 'queued') return run.cancelBy ?? null;
  if (run.status !== 'waiting') return null;
  return run.wait === null ? (run.scheduledAt ?? run.updatedAt) : run.wait.dueAt;
}

/** Reads the run of a record. Throws `StoreError` `corrupt` if it is not the run of this `id`. */
export function readRun(record: RecordData, id?: string): Run {
  if (record.key.collection !== RUNS.name || typeof record.body !== 'string') {
    throw new StoreError('corrupt', 'a run record holds no run');
  }
  const run = withoutCarriedTags(parseJson(record.body) as Run);
  if (id !== undefined && run.id !== id) {
    throw new StoreError('corrupt', 'a run record does not hold the run that its id names');
  }
  const { leaseExpiresAt } = record.head;
  // A heartbeat writes the head only, so the head has the newer expiry.
  return run.lease === null || typeof leaseExpiresAt !== 'number' || leaseExpiresAt === run.lease.expiresAt
    ? run
    : { ...run, lease: { ...run.lease, expiresAt: leaseExpiresAt } };
}

export function isActive(run: Run): boolean {
  return !isTerminal(run.status);
}

/** The record of a large value. Its `listing` finds it when the run is removed. */
export function valueRecord(runId: string, record: string, text: string, version: string | null): RecordData {
  return {
    key: valueKey(record),
    head: { runId, version },
    body: text,
    listing: { group: runId, id: record, hidden: false, indexes: {} },
  };
}

/** Indexes trace parts by their last sequence id, so that a reader can start at the part after a given id. */
export const TRACE_LAST_INDEX = 'last';

export function runTraceRecord(runId: string, entries: readonly TraceEntry[]): RecordData {
  const first = entries[0]?.sequenceId ?? '';
  const last = entries.at(-1)?.sequenceId ?? '';
  return {
    key: runTraceKey(runId, first),
    head: { runId, first, last, entries: entries.length },
    body: JSON.stringify(entries),
    listing: { group: runId, id: first, hidden: false, indexes: { [TRACE_LAST_INDEX]: last } },
  };
}
