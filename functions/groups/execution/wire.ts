import type {
  ExecutionArtifact,
  ExecutionCheckpoint,
  ExecutionExternalWorkerLease,
  ExecutionHandlerDescriptor,
  ExecutionLeaseCheckpoints,
  ExecutionTraceEvent,
} from '../../../contracts/generated/models.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { StoredArtifact } from '../../runs/artifact.ts';
import type { Checkpoint } from '../../runs/checkpoint.ts';
import type { HandlerDescriptor } from '../../runs/handler-registry.ts';
import { leaseCheckpoints } from '../../runs/lease-checkpoints.ts';
import { isLastAttempt } from '../../runs/rules/complete.ts';
import type { Run, TraceEntry } from '../../runs/run.ts';
import type { Runtime } from '../../runs/runtime.ts';
import { fittingCount } from '../../store/pages.ts';
import { wireRun } from './library/wire-run.ts';

/** The first trace entries that fit one answer, and at least one. */
export function traceWithinAnswer(entries: readonly TraceEntry[]): readonly TraceEntry[] {
  return entries.slice(
    0,
    fittingCount(entries, (entry) => JSON.stringify(entry).length),
  );
}

/** Identifies the run of a lease; opaque to workers. */
const LEASE_KEY_PREFIX = 'external-worker-run-';

function leaseKeyOf(runId: string): string {
  return `${LEASE_KEY_PREFIX}${runId}`;
}

/** `null` for a key that the service did not issue. */
export function runIdOfLeaseKey(leaseKey: string): string | null {
  const key = leaseKey.trim();
  return key.startsWith(LEASE_KEY_PREFIX) ? key.slice(LEASE_KEY_PREFIX.length) : null;
}

/** The holder of a lease, as its answer names it. */
interface LeaseHolder {
  readonly token: string;
  readonly workerId: string;
  /** Checkpoints that the call requested; absent or `null` if it requested none. */
  readonly checkpointKeys?: readonly string[] | null;
}

export async function wireLease(
  runtime: Runtime,
  run: Run,
  { token, workerId, checkpointKeys = null }: LeaseHolder,
): Promise<ExecutionExternalWorkerLease> {
  return {
    leaseKey: leaseKeyOf(run.id),
    leaseToken: token,
    workerId,
    run: await wireRun(runtime, run),
    acquiredAtUtc: formatUtc(run.lease?.acquiredAt ?? run.updatedAt),
    expiresAtUtc: formatUtc(run.lease?.expiresAt ?? run.updatedAt),
    showsHandlerErrors: runtime.options.showsHandlerErrors,
    isLastAttempt: isLastAttempt(run),
    ...(checkpointKeys === null ? {} : { checkpoints: await requested(runtime, run, checkpointKeys) }),
  };
}

async function requested(
  runtime: Runtime,
  run: Run,
  keys: readonly string[],
): Promise<ExecutionLeaseCheckpoints> {
  const { found, absent } = await leaseCheckpoints(runtime, run, keys);
  return { found: found.map(wireCheckpoint), absent };
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
