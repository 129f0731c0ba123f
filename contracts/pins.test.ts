import { describe, expect, it } from 'vitest';
import { problems } from './generated/errors.ts';
import { operations } from './generated/operations.ts';

// Clients depend on these values, so the tests repeat them as literals. The first release of a later operation or problem
// pins it (`test/release.test.ts`).

const PROBLEMS = `
400 malformed_request
400 invalid_path_segment
400 validation_failed
400 limit_exceeded
400 tenant_mismatch
400 duplicate_in_request
400 continuation_token_invalid
400 content_hash_mismatch
400 handler_missing
400 plugin_mismatch
400 run_mismatch
401 unauthenticated
403 permission_denied
403 product_policy_violation
404 not_found
404 route_not_found
405 method_not_allowed
408 request_timeout retryable
409 idempotency_conflict
409 fence_conflict
409 fence_not_owned
409 document_missing
409 outbox_event_exists
409 lease_stale
409 lease_not_active
409 outbox_event_not_dead_lettered
409 migration_checksum_conflict
409 quota_exceeded
412 precondition_failed
413 payload_too_large
413 commit_too_large
413 snapshot_too_large
415 unsupported_media_type
422 admission_rejected
429 rate_limited retryable
429 queue_full retryable
429 inbox_full retryable
431 headers_too_large
500 internal_error
503 store_contention retryable
503 storage_full
503 handler_not_routed
503 unavailable retryable
`;

const ROUTES = `
getHealth: GET /health getHealth
getReadiness: GET /readiness getReadiness
getOpenApiContract: GET /openapi/svc.json getOpenApiContract
getPublicSchemaContract: GET /contracts/schemas/svc-public.schema.json getPublicSchemaContract
commitCanonicalTransaction: POST /canonical/tenants/{tenantId}/transactions commitCanonicalTransaction
readCanonicalDocument: POST /canonical/tenants/{tenantId}/documents/read readCanonicalDocument
readCanonicalDocument: GET /canonical/tenants/{tenantId}/documents/{documentType}/{id} getCanonicalDocument
queryCanonicalDocumentRevisions: POST /canonical/tenants/{tenantId}/documents/revisions queryCanonicalDocumentRevisions
queryCanonicalDocumentRevisions: GET /canonical/tenants/{tenantId}/documents/{documentType}/{id}/revisions listCanonicalDocumentRevisions
leaseCanonicalOutbox: POST /canonical/tenants/{tenantId}/outbox/leases leaseCanonicalOutbox
queryCanonicalOutbox: POST /canonical/tenants/{tenantId}/outbox/query queryCanonicalOutbox
renewCanonicalOutboxLease: POST /canonical/tenants/{tenantId}/outbox/{eventId}/renew renewCanonicalOutboxLease
acknowledgeCanonicalOutbox: POST /canonical/tenants/{tenantId}/outbox/{eventId}/ack acknowledgeCanonicalOutbox
releaseCanonicalOutbox: POST /canonical/tenants/{tenantId}/outbox/{eventId}/nack releaseCanonicalOutbox
replayCanonicalOutbox: POST /canonical/tenants/{tenantId}/outbox/{eventId}/replay replayCanonicalOutbox
queryCanonicalDocuments: POST /canonical/tenants/{tenantId}/documents/query queryCanonicalDocuments
exportCanonicalTenant: GET /canonical/tenants/{tenantId}/export exportCanonicalTenant
restoreCanonicalTenant: POST /canonical/tenants/{tenantId}/restore restoreCanonicalTenant
listCanonicalMigrations: GET /canonical/migrations listCanonicalMigrations
applyCanonicalMigrations: POST /canonical/migrations applyCanonicalMigrations
preflightCanonicalStore: GET /canonical/preflight preflightCanonicalStore
probeCanonicalStoreDataPlane: POST /canonical/preflight/probe probeCanonicalStoreDataPlane
getExecutionRuntime: GET /execution/runtime getExecutionRuntime
getEffectiveExecutionRuntime: GET /execution/runtime/effective getEffectiveExecutionRuntime
getExecutionRuntimeMaintenance: GET /execution/runtime/maintenance getExecutionRuntimeMaintenance
pruneExecutionRuntimeMaintenance: POST /execution/runtime/maintenance/prune pruneExecutionRuntimeMaintenance
reconcileExecutionRuntimeDispatch: POST /execution/runtime/maintenance/reconcile reconcileExecutionRuntimeDispatch
leaseExternalExecutionRun: POST /execution/workers/leases leaseExternalExecutionRun
heartbeatExternalExecutionLease: POST /execution/workers/leases/heartbeat heartbeatExternalExecutionLease
reportExternalExecutionLease: POST /execution/workers/leases/reports reportExternalExecutionLease
recordExternalExecutionLeaseEvent: POST /execution/workers/leases/events recordExternalExecutionLeaseEvent
putExternalExecutionLeaseArtifact: POST /execution/workers/leases/artifacts putExternalExecutionLeaseArtifact
putExternalExecutionLeaseCheckpoint: POST /execution/workers/leases/checkpoints putExternalExecutionLeaseCheckpoint
getExternalExecutionLeaseCheckpoint: POST /execution/workers/leases/checkpoints/read getExternalExecutionLeaseCheckpoint
startExternalExecutionLeaseChild: POST /execution/workers/leases/children startExternalExecutionLeaseChild
waitExternalExecutionLease: POST /execution/workers/leases/wait waitExternalExecutionLease
completeExternalExecutionLease: POST /execution/workers/leases/complete completeExternalExecutionLease
listExecutionRuns: GET /execution/runs listExecutionRuns
startExecutionRun: POST /execution/runs startExecutionRun
getExecutionRun: GET /execution/runs/{runId} getExecutionRun
cancelExecutionRun: DELETE /execution/runs/{runId} cancelExecutionRun
raiseExecutionEvent: POST /execution/runs/{runId}/events raiseExecutionEvent
getExecutionRunHistory: GET /execution/runs/{runId}/history getExecutionRunHistory
listExecutionRunArtifacts: GET /execution/runs/{runId}/artifacts listExecutionRunArtifacts
getExecutionRunArtifact: GET /execution/runs/{runId}/artifacts/{artifactRef} getExecutionRunArtifact
getExecutionRunCheckpoint: GET /execution/runs/{runId}/checkpoints/{key} getExecutionRunCheckpoint
`;

const ACCESS = `
getHealth anonymous null read 200 null
getReadiness anonymous null read 200 null
getOpenApiContract anonymous null read 200 null
getPublicSchemaContract anonymous null read 200 null
commitCanonicalTransaction canonical-policy write write 200 8388608
readCanonicalDocument canonical-policy read read 200 65536
queryCanonicalDocumentRevisions canonical-policy read read 200 65536
leaseCanonicalOutbox canonical-policy dispatch write 200 65536
queryCanonicalOutbox canonical-policy dispatch read 200 65536
renewCanonicalOutboxLease canonical-policy dispatch write 200 65536
acknowledgeCanonicalOutbox canonical-policy dispatch write 204 65536
releaseCanonicalOutbox canonical-policy dispatch write 204 65536
replayCanonicalOutbox canonical-policy dispatch write 204 65536
queryCanonicalDocuments canonical-policy read read 200 65536
exportCanonicalTenant canonical-policy export read 200 null
restoreCanonicalTenant canonical-policy restore write 204 268435456
listCanonicalMigrations canonical-policy admin read 200 null
applyCanonicalMigrations canonical-policy admin write 204 1048576
preflightCanonicalStore canonical-policy admin read 200,503 null
probeCanonicalStoreDataPlane canonical-policy admin write 200,503 null
getExecutionRuntime execution-policy maintenance read 200 null
getEffectiveExecutionRuntime execution-policy start_run read 200 null
getExecutionRuntimeMaintenance execution-maintenance maintenance read 200 null
pruneExecutionRuntimeMaintenance execution-maintenance maintenance write 200 65536
reconcileExecutionRuntimeDispatch execution-maintenance maintenance write 200 65536
leaseExternalExecutionRun execution-worker worker write 200,204 65536
heartbeatExternalExecutionLease execution-worker worker write 200 65536
reportExternalExecutionLease execution-worker worker write 200 1310720
recordExternalExecutionLeaseEvent execution-worker worker write 204 131072
putExternalExecutionLeaseArtifact execution-worker worker write 200 33554432
putExternalExecutionLeaseCheckpoint execution-worker worker write 200 1310720
getExternalExecutionLeaseCheckpoint execution-worker worker read 200 65536
startExternalExecutionLeaseChild execution-worker worker write 200 1310720
waitExternalExecutionLease execution-worker worker write 200 1310720
completeExternalExecutionLease execution-worker worker write 200 1310720
listExecutionRuns execution-policy read_run read 200 null
startExecutionRun execution-policy start_run write 202 1310720
getExecutionRun execution-policy read_run read 200 null
cancelExecutionRun execution-policy cancel_run delete 200 null
raiseExecutionEvent execution-policy raise_event write 200 1310720
getExecutionRunHistory execution-policy read_run read 200 null
listExecutionRunArtifacts execution-policy read_run read 200 null
getExecutionRunArtifact execution-policy read_run read 200 null
getExecutionRunCheckpoint execution-policy read_run read 200 null
`;

/** The lines that begin like a pinned one, so that additions touch no list. */
function known(lines: readonly string[], pinned: readonly string[], nameOf: (line: string) => string) {
  const names = new Set(pinned.map(nameOf));
  return lines.filter((line) => names.has(nameOf(line)));
}

const word = (at: number) => (line: string) => line.split(' ')[at] ?? '';

describe('what peers see', () => {
  it('keeps every problem code, its status and whether a retry can help', () => {
    const lines = Object.entries(problems).map(
      ([code, { status, retryable }]) => `${status} ${code}${retryable ? ' retryable' : ''}`,
    );
    const pinned = PROBLEMS.trim().split('\n');
    expect(known(lines, pinned, word(1))).toEqual(pinned);
  });

  it('keeps every operation, its routes and their ids', () => {
    const lines = Object.values(operations).flatMap(({ id, routes }) =>
      routes.map(({ method, segments, operationId }) => {
        const path = segments.map((part) => ('literal' in part ? part.literal : `{${part.param}}`)).join('/');
        return `${id}: ${method} /${path} ${operationId}`;
      }),
    );
    const pinned = ROUTES.trim().split('\n');
    expect(known(lines, pinned, word(0))).toEqual(pinned);
  });

  it('keeps who may call, what changes, the status of success and the largest body', () => {
    const lines = Object.values(operations).map((entry) => {
      const statuses = entry.responses.map(({ status }) => status).join(',');
      const { id, authorizationClass, accessOperation, mutation, bodyLimitBytes } = entry;
      return [id, authorizationClass, accessOperation, mutation, statuses, bodyLimitBytes]
        .map(String)
        .join(' ');
    });
    const pinned = ACCESS.trim().split('\n');
    expect(known(lines, pinned, word(0))).toEqual(pinned);
  });
});
