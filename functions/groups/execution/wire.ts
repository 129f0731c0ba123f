import type {
  ExecutionArtifact,
  ExecutionCheckpoint,
  ExecutionExternalWorkerLease,
  ExecutionHandlerDescriptor,
  ExecutionRun,
  ExecutionTraceEvent,
} from '../../../contracts/generated/models.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { admissionOf } from '../../runs/admission.ts';
import type { StoredArtifact } from '../../runs/artifact.ts';
import type { Checkpoint } from '../../runs/checkpoint.ts';
import type { HandlerDescriptor } from '../../runs/handler-registry.ts';
import { missingRun } from '../../runs/held.ts';
import { findValues, findWhole } from '../../runs/read-runs.ts';
import { NULL_VALUE, type Run, type StoredValue, type TraceEntry } from '../../runs/run.ts';
import type { Runtime } from '../../runs/runtime.ts';

export interface RunView {
  /** True only if the request repeats an earlier one. */
  readonly replayed?: boolean;
  readonly includeResult?: boolean;
}

/** The run for a caller who may change it but not read it: receipt, status and counts, without any text or value of others. */
export function asReceipt(run: Run, principal: string | null): Run {
  const { scope } = run;
  const own = scope === null || scope.serviceIdentity === principal;
  return {
    ...run,
    payload: NULL_VALUE,
    result: NULL_VALUE,
    statusDetails: null,
    currentStep: null,
    error: null,
    tags: {},
    scope: own ? scope : { ...scope, serviceIdentity: null },
  };
}

/** The run as an answer shows it, with payload and result. */
export async function wireRun(runtime: Runtime, run: Run, view: RunView = {}): Promise<ExecutionRun> {
  const [wired] = await wireRuns(runtime, [run], view);
  if (wired === undefined) throw missingRun();
  return wired;
}

/** Runs that are removed during the read are left out. */
export async function wireRuns(
  runtime: Runtime,
  runs: readonly Run[],
  { replayed = false, includeResult = true }: RunView = {},
): Promise<ExecutionRun[]> {
  const values = runs.flatMap((run): StoredValue[] => [
    run.payload,
    includeResult ? run.result : { json: null },
  ]);
  const loaded = await findValues(runtime, values);
  const wired: ExecutionRun[] = [];
  for (const [index, run] of runs.entries()) {
    const payload = loaded[2 * index];
    const result = loaded[2 * index + 1];
    if (payload !== undefined && result !== undefined) {
      wired.push(inWireOrder(run, payload, result, replayed));
      continue;
    }
    // The result was replaced since the run was read. Read both again, as of one moment.
    const now = await findWhole(runtime, run);
    if (now !== null)
      wired.push(inWireOrder(now.run, now.payload, includeResult ? now.result : null, replayed));
  }
  return wired;
}

/** JSON text of one answer with several runs. */
const ANSWER_CHARACTERS_MAX = 8 * 1024 * 1024;

/** The first runs that fit one answer, and at least one. */
export function withinAnswer(runs: readonly Run[], { includeResult = true }: RunView): readonly Run[] {
  let characters = 0;
  const end = runs.findIndex((run, index) => {
    characters += charactersOf(run.payload) + (includeResult ? charactersOf(run.result) : 0);
    characters += JSON.stringify(inWireOrder(run, null, null, false)).length;
    return index > 0 && characters > ANSWER_CHARACTERS_MAX;
  });
  return end === -1 ? runs : runs.slice(0, end);
}

/** The first trace entries that fit one answer, and at least one. */
export function traceWithinAnswer(entries: readonly TraceEntry[]): readonly TraceEntry[] {
  let characters = 0;
  const end = entries.findIndex((entry, index) => {
    characters += JSON.stringify(entry).length;
    return index > 0 && characters > ANSWER_CHARACTERS_MAX;
  });
  return end === -1 ? entries : entries.slice(0, end);
}

function charactersOf(value: StoredValue): number {
  return 'json' in value ? JSON.stringify(value.json).length : (value.characters ?? 0);
}

function inWireOrder(run: Run, payload: Json, result: Json, replayed: boolean): ExecutionRun {
  return {
    admission: admissionOf(run, replayed),
    id: run.id,
    handlerId: run.handlerId,
    pluginId: run.pluginId,
    status: run.status,
    attempt: run.attempt,
    maxAttempts: run.retryPolicy.maxAttempts,
    retryPolicy: run.retryPolicy,
    correlationId: run.correlationId,
    scope: run.scope,
    payloadHash: run.payloadHash,
    payload,
    createdAtUtc: formatUtc(run.createdAt),
    scheduledAtUtc: moment(run.scheduledAt),
    startedAtUtc: moment(run.startedAt),
    updatedAtUtc: formatUtc(run.updatedAt),
    completedAtUtc: moment(run.completedAt),
    durationMs: run.completedAt === null ? null : run.completedAt - (run.startedAt ?? run.completedAt),
    cancellationRequested: run.cancellationRequested,
    requested: run.requested,
    attempted: run.attempted,
    succeeded: run.succeeded,
    failed: run.failed,
    progress: run.progress,
    currentStep: run.currentStep,
    failureClass: run.failureClass,
    error: run.error,
    result,
    statusDetails: run.statusDetails,
    tags: run.tags,
  };
}

function moment(at: number | null): string | null {
  return at === null ? null : formatUtc(at);
}

/** Identifies the run of a lease; opaque to workers. */
const LEASE_KEY_PREFIX = 'external-worker-run-';

export function leaseKeyOf(runId: string): string {
  return `${LEASE_KEY_PREFIX}${runId}`;
}

/** `null` for a key that the service did not issue. */
export function runIdOfLeaseKey(leaseKey: string): string | null {
  const key = leaseKey.trim();
  return key.startsWith(LEASE_KEY_PREFIX) ? key.slice(LEASE_KEY_PREFIX.length) : null;
}

export async function wireLease(
  runtime: Runtime,
  run: Run,
  leaseToken: string,
  workerId: string,
): Promise<ExecutionExternalWorkerLease> {
  return {
    leaseKey: leaseKeyOf(run.id),
    leaseToken,
    workerId,
    run: await wireRun(runtime, run),
    acquiredAtUtc: formatUtc(run.lease?.acquiredAt ?? run.updatedAt),
    expiresAtUtc: formatUtc(run.lease?.expiresAt ?? run.updatedAt),
    showsHandlerErrors: runtime.options.showsHandlerErrors,
  };
}

/** Release 0.5.0 named processes by their host and process id, which callers must not see. */
function withoutHost(workerId: string): string {
  return workerId.replace(/^process-.*-\d+-([0-9a-f]{8,16})$/, 'process-$1');
}

/** Adds the members that all events of a run share. */
export function wireTrace({ options }: Runtime, run: Run, entry: TraceEntry): ExecutionTraceEvent {
  const context: Record<string, string> = {
    adapterId: options.adapterId,
    runtimeKind: options.runtimeKind,
    runId: run.id,
    correlationId: run.correlationId,
    handlerId: run.handlerId,
  };
  if (entry.workerId !== null) context.workerId = withoutHost(entry.workerId);
  if (run.pluginId !== null) context.pluginId = run.pluginId;
  if (run.scope !== null) {
    context.productId = run.scope.productId;
    context.tenantId = run.scope.tenantId;
    if (run.scope.serviceIdentity !== null) context.serviceIdentity = run.scope.serviceIdentity;
  }
  return {
    id: entry.sequenceId,
    sequenceId: entry.sequenceId,
    runId: run.id,
    type: entry.type,
    timestampUtc: formatUtc(entry.at),
    attempt: entry.attempt,
    stepId: null,
    status: entry.status,
    severity: entry.severity,
    message: entry.message,
    details: entry.details,
    context,
  };
}

export function wireArtifact(artifact: StoredArtifact): ExecutionArtifact {
  const { id, runId, name, kind, mediaType, contentHash, sizeBytes, text, content, uri, metadata } = artifact;
  const createdAtUtc = formatUtc(artifact.createdAt);
  return {
    id,
    runId,
    name,
    kind,
    mediaType,
    contentHash,
    sizeBytes,
    text,
    content,
    uri,
    createdAtUtc,
    metadata,
  };
}

export function wireCheckpoint({
  runId,
  key,
  contentHash,
  updatedAt,
  content,
  metadata,
}: Checkpoint): ExecutionCheckpoint {
  return { runId, key, contentHash, updatedAtUtc: formatUtc(updatedAt), content, metadata };
}

export function wireHandler(handler: HandlerDescriptor): ExecutionHandlerDescriptor {
  const { handlerId, pluginId, displayName, description, maxAttempts, concurrencyKey, tags } = handler;
  return { handlerId, pluginId, displayName, description, maxAttempts, concurrencyKey, tags };
}
