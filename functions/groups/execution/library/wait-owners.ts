import { limits } from '../../../../contracts/generated/limits.ts';
import { type Caller, placeOwnerOf } from '../../../identity/caller.ts';
import type { ServedTenant } from '../../../identity/execution-access.ts';
import type { PlaceOwner, PlaceOwners } from '../../../kernel/waiting-places.ts';
import { type OwnedRun, ownerOfRun } from '../../../runs/run-job.ts';

/** The second owner of a waiting call, beside its caller: the tenant or space of the run. A tenant may have many products. */
export function tenantOwner(run: OwnedRun, share: number): PlaceOwner | null {
  const owner = ownerOfRun(run);
  return owner && { name: `${owner.kind} ${owner.name}`, share };
}

export interface LeaseCaller {
  readonly caller: Caller;
  readonly workerId: string;
  /** `null` without access grants, when no tenant is known. */
  readonly tenants: readonly ServedTenant[] | null;
  readonly aside?: (() => void) | undefined;
}

export interface LeaseOwners {
  readonly owners: PlaceOwners;
  /** Possible owners of the call, which may get runs of each. It counts against one of them. */
  readonly served: readonly PlaceOwner[];
  /** For a call that names its run. */
  readonly ownersOf: (run: OwnedRun | undefined) => PlaceOwners;
}

/**
 * The owners of a waiting lease call: its caller, and a tenant that its worker serves. So a tenant with many worker identities has no
 * more places than a tenant with one.
 */
export function leaseOwners({ caller, workerId, tenants, aside }: LeaseCaller): LeaseOwners {
  const own = placeOwnerOf(caller, aside);
  const share = limits.executionLeaseWaitingCallsPerTenantMax;
  // The worker id is not verified here, so it only divides the share of the caller.
  const served = tenants?.map(ownerOfServed) ?? [{ name: `worker ${workerId} of ${own.name}`, share }];
  const ownersOf = (run: OwnedRun | undefined): PlaceOwners => {
    const tenant = run === undefined ? null : tenantOwner(run, share);
    return tenant === null ? [own] : [own, tenant];
  };
  return { owners: [own], served, ownersOf };
}

function ownerOfServed({ productId, tenantId }: ServedTenant): PlaceOwner {
  if (tenantId === null) return { name: `product ${productId}`, share: limits.waitingCallsPerPrincipalMax };
  return { name: `tenants ${tenantId}`, share: limits.executionLeaseWaitingCallsPerTenantMax };
}
