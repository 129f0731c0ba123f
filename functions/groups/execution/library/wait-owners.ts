import { limits } from '../../../../contracts/generated/limits.ts';
import { type Caller, placeOwnerOf } from '../../../identity/caller.ts';
import type { ServedTenant } from '../../../identity/execution-access.ts';
import type { PlaceOwner, PlaceOwners } from '../../../kernel/waiting-places.ts';
import { type OwnedRun, ownerOfRun } from '../../../runs/run-job.ts';

/** In whose name a call waits for a run, beside its caller: the tenant or the space. The product does not count: a tenant may have many. */
export function tenantOwner(run: OwnedRun, share: number): PlaceOwner | null {
  const owner = ownerOfRun(run);
  return owner && { name: `${owner.kind} ${owner.name}`, share };
}

export interface LeaseCaller {
  readonly caller: Caller;
  readonly workerId: string;
  /** `null` without access grants: then no tenant is known. */
  readonly tenants: readonly ServedTenant[] | null;
  readonly aside?: (() => void) | undefined;
}

export interface LeaseOwners {
  readonly owners: PlaceOwners;
  /** The call waits in the name of one of these: it may get runs of each. */
  readonly served: readonly PlaceOwner[];
  /** For a call that names its run. */
  readonly ownersOf: (run: OwnedRun | undefined) => PlaceOwners;
}

/**
 * In whose name a lease call waits: its caller, and a tenant that its worker serves. A tenant with many workers, each with an
 * identity of its own, so has no more places than one with a single worker.
 */
export function leaseOwners({ caller, workerId, tenants, aside }: LeaseCaller): LeaseOwners {
  const own = placeOwnerOf(caller, aside);
  const share = limits.executionLeaseWaitingCallsPerTenantMax;
  // The name of the worker is a claim here, so it only divides the share of the caller.
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
