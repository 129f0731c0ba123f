import { ServiceError } from '../kernel/errors.ts';
import type { ClassPolicy, VerifiedCaller } from './authorizer.ts';
import { grantsByPrincipal, permissionDenied } from './grants.ts';

/**
 * The identity policies of `Server:CanonicalAccess`: principals, operations and tenants of the canonical store. A call is
 * allowed when one single grant of its principal holds both the access operation of the catalog and the tenant.
 */

export type CanonicalAccessOperation = 'read' | 'write' | 'dispatch' | 'export' | 'restore' | 'admin';

/** @testonly */
export interface CanonicalGrant {
  readonly principal: string;
  /** Tenants by name, or `*` for all of them. */
  readonly tenantIds: readonly string[];
  readonly operations: readonly CanonicalAccessOperation[];
}

export interface CanonicalAccessOptions {
  readonly grants: readonly CanonicalGrant[];
  /** Whether principals are compared without regard to the case of ASCII letters; true unless set. */
  readonly caseInsensitive?: boolean;
  /**
   * How old the token of a restore may be (a step-up as in RFC 9470: an old stolen token then replaces no tenant). `null`,
   * the default: any valid token will do. A proof without a time of issue is accepted.
   */
  readonly restoreTokenMaxAgeSeconds?: number | null;
}

/**
 * The policy of the class `canonical-policy`. Throws `permission_denied` with one text for every reason, and
 * `unauthenticated` where only a young proof is missing.
 *
 * An operation without a tenant in its path, and always `admin`, is about all tenants and needs a grant for `*`. `restore`
 * also needs `admin`, from any grant of the same principal. `admin` includes nothing else.
 */
export function createCanonicalPolicy({
  grants,
  caseInsensitive = true,
  restoreTokenMaxAgeSeconds = null,
}: CanonicalAccessOptions): ClassPolicy {
  const grantsOf = grantsByPrincipal(grants, prepare, caseInsensitive);
  return (caller, { accessOperation }, { params, now }) => {
    const { tenantId } = params;
    if (!isAccessOperation(accessOperation)) throw permissionDenied({ right: accessOperation, tenantId });
    const own = grantsOf(caller.principal);
    const holds = (operation: CanonicalAccessOperation) =>
      own.some((grant) => covers(grant, operation, tenantId));
    if (!holds(accessOperation)) throw permissionDenied({ right: accessOperation, tenantId });
    if (accessOperation !== 'restore') return;
    if (!holds('admin')) throw permissionDenied({ right: 'admin', tenantId });
    if (restoreTokenMaxAgeSeconds !== null) requireYoungProof(caller, now, restoreTokenMaxAgeSeconds);
  };
}

interface ReadyGrant {
  readonly everyTenant: boolean;
  readonly tenants: ReadonlySet<string>;
  readonly operations: ReadonlySet<CanonicalAccessOperation>;
}

function prepare({ tenantIds, operations }: CanonicalGrant): ReadyGrant {
  return {
    everyTenant: tenantIds.includes('*'),
    tenants: new Set(tenantIds),
    operations: new Set(operations),
  };
}

function covers(
  grant: ReadyGrant,
  operation: CanonicalAccessOperation,
  tenantId: string | undefined,
): boolean {
  if (!grant.operations.has(operation)) return false;
  if (grant.everyTenant) return true;
  return operation !== 'admin' && tenantId !== undefined && grant.tenants.has(tenantId);
}

function requireYoungProof({ issuedAt }: VerifiedCaller, now: number, ageMaxSeconds: number): void {
  if (issuedAt === undefined || issuedAt === null) return;
  // In this form of the comparison NaN counts as too old.
  if (now - issuedAt <= ageMaxSeconds * 1_000) return;
  throw new ServiceError(
    'unauthenticated',
    `A restore needs a token that was issued in the last ${ageMaxSeconds} seconds: get a new one and try again.`,
  );
}

const accessOperations: ReadonlySet<unknown> = new Set<CanonicalAccessOperation>([
  'read',
  'write',
  'dispatch',
  'export',
  'restore',
  'admin',
]);

function isAccessOperation(operation: string | null): operation is CanonicalAccessOperation {
  return accessOperations.has(operation);
}
