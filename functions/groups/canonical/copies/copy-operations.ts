import type { CanonicalTenantSnapshot } from '../../../../contracts/generated/models.ts';
import { SnapshotError, type SnapshotFault } from '../../../archives/snapshot-error.ts';
import type { Handler } from '../../../http/handler.ts';
import { RawBody } from '../../../http/message.ts';
import { type ProblemDetail, ServiceError } from '../../../kernel/errors.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { snapshotText } from './snapshot-text.ts';
import { exportTenant, restoreTenant } from './tenant-copies.ts';

/** Where a tenant goes that one message cannot carry. */
const ADVICE =
  'Export a tenant of this size as an archive, with the operator tool: svc canonical-archive-export.';

/** The tenant as of one moment, within what one JSON snapshot, and one answer of the platform, may hold. */
export function exportCanonicalTenant(dependencies: CanonicalDependencies): Handler<'exportCanonicalTenant'> {
  const { retention, configuration, world } = dependencies;
  const gone = retention === undefined ? {} : { isGone: retention.isGone.bind(retention) };
  return async ({ params: { tenantId } }, { now, signal }) => {
    const store = await dependencies.store();
    const turns = world.turns.of(tenantId, signal);
    const snapshot = await refusing(() => exportTenant(store, tenantId, { now, signal, turns, ...gone }));
    const bytesMax = configuration.messageBytesMax;
    const content = await snapshotText(snapshot, { bytesMax, advice: ADVICE, turns });
    // Written already: as an object it would be written in one go, with every other call waiting.
    const body: unknown = new RawBody('application/json', content.blocks());
    return { status: 200, body: body as CanonicalTenantSnapshot };
  };
}

/** Replaces the tenant. The snapshot is checked whole before anything is written. */
export function restoreCanonicalTenant(
  dependencies: CanonicalDependencies,
): Handler<'restoreCanonicalTenant'> {
  return async ({ params: { tenantId }, body }, { now, signal }) => {
    const store = await dependencies.store();
    const { snapshot, expectedContentHash } = body;
    const turns = dependencies.world.turns.of(tenantId);
    await refusing(() => restoreTenant(store, tenantId, snapshot, { expectedContentHash, turns, signal }));
    // Calls that wait for events may find some now.
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

/** What `work` gives; the refusal of a snapshot as that of a request which holds it. */
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
  // Found right by its own hash: then it is the expected one that it does not have.
  if (fault === 'hash_mismatch' && pointer === '') return { pointer: '/expectedContentHash', detail };
  return { pointer: `/snapshot${pointer}`, detail };
}
