import type { CanonicalTenantSnapshot } from '../../../../contracts/generated/models.ts';
import { SnapshotError, type SnapshotFault } from '../../../archives/snapshot-error.ts';
import type { Handler } from '../../../http/handler.ts';
import { RawBody } from '../../../http/message.ts';
import { type ProblemDetail, ServiceError } from '../../../kernel/errors.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { snapshotText } from './snapshot-text.ts';
import { exportTenant, restoreTenant } from './tenant-copies.ts';

/** Advice for a tenant that is too large for one message. */
const ADVICE =
  'Export a tenant of this size as an archive, with the operator tool: svc canonical-archive-export.';

/** Exports the tenant as of one moment, within the limits of a JSON snapshot and of an answer through the platform. */
export function exportCanonicalTenant(dependencies: CanonicalDependencies): Handler<'exportCanonicalTenant'> {
  const { retention, configuration, world } = dependencies;
  const gone = retention === undefined ? {} : { isGone: retention.isGone.bind(retention) };
  return async ({ params: { tenantId } }, { now, signal }) => {
    const store = await dependencies.store();
    const turns = world.turns.of(tenantId, signal);
    const snapshot = await refusing(() => exportTenant(store, tenantId, { now, signal, turns, ...gone }));
    const bytesMax = configuration.messageBytesMax;
    const content = await snapshotText(snapshot, { bytesMax, advice: ADVICE, turns });
    // The body is text already: writing a large object would block every other call.
    const body: unknown = new RawBody('application/json', content.blocks());
    return { status: 200, body: body as CanonicalTenantSnapshot };
  };
}

/** Replaces the tenant. Checks the whole snapshot before the first write. */
export function restoreCanonicalTenant(
  dependencies: CanonicalDependencies,
): Handler<'restoreCanonicalTenant'> {
  return async ({ params: { tenantId }, body }, { now, signal }) => {
    const store = await dependencies.store();
    const { snapshot, expectedContentHash } = body;
    const turns = dependencies.world.turns.of(tenantId);
    await refusing(() => restoreTenant(store, tenantId, snapshot, { expectedContentHash, turns, signal }));
    // Wake the calls that wait for events, because the restore may have brought some.
    dependencies.waits?.announce(tenantId, now);
    return { status: 204, body: null };
  };
}

const CODES = {
  malformed: 'validation_failed',
  newer_version: 'validation_failed',
  invalid: 'validation_failed',
  over_limit: 'limit_exceeded',
  other_tenant: 'tenant_mismatch',
  other_space: 'tenant_mismatch',
  duplicate: 'duplicate_in_request',
  order: 'validation_failed',
  incomplete: 'validation_failed',
  hash_mismatch: 'content_hash_mismatch',
  too_large: 'snapshot_too_large',
} as const satisfies Readonly<Record<SnapshotFault, string>>;

/** Returns the result of `work`. Turns a `SnapshotError` into the refusal of the request that holds the snapshot. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    const code = CODES[error.fault];
    if (code === 'snapshot_too_large')
      throw new ServiceError(code, `The tenant is too large: ${error.detail}. ${ADVICE}`);
    const problem =
      code === 'content_hash_mismatch' ? 'The content is not the expected one' : 'The snapshot is not valid';
    throw new ServiceError(code, `${problem}: ${error.detail}`, { errors: [placeInRequest(error)] });
  }
}

function placeInRequest({ detail, place, fault }: SnapshotError): ProblemDetail {
  const pointer = place.pointer ?? '';
  // The snapshot has its own hash, so the expected hash of the request is the fault.
  if (fault === 'hash_mismatch' && pointer === '') return { pointer: '/expectedContentHash', detail };
  return { pointer: `/snapshot${pointer}`, detail };
}
