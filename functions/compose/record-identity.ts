import { authorizationClasses } from '../../contracts/generated/groups.ts';
import { isRecordGroup } from '../config/rules.ts';
import type { Settings } from '../config/table.ts';
import type { AuthenticatedOperation, Authenticator } from '../identity/authenticator.ts';
import type { Authorizer } from '../identity/authorizer.ts';
import { createRecordAccess, type RecordAccess, recordRightOf } from '../identity/record-access.ts';
import type { WorkloadIdentity } from '../identity/workload.ts';

/** The access rules of the groups of records, composed from the settings. */

const RECORD_CLASS = 'server-authenticated';

/** Decides about spaces; without policies, in an open Development service, all callers share one. */
export function spaceAccessOf<Operation extends string>(
  { identityPolicies }: Pick<Settings['recordAccess'], 'identityPolicies'>,
  caseInsensitive: boolean,
): RecordAccess<Operation> {
  // The rules of the configuration have refused every policy with missing or unknown values.
  const grants = identityPolicies.map((policy) => ({
    principal: policy.Principal ?? '',
    space: policy.Space ?? '',
    productId: policy.ProductId ?? null,
    operations: (policy.AllowedOperations ?? []) as readonly Operation[],
  }));
  return createRecordAccess({ grants, caseInsensitive });
}

/** Whether the operation belongs to a group of records, and another class of the catalog than theirs decides about it too. */
function needsBoth({ group, authorizationClass }: AuthenticatedOperation): boolean {
  if (group === undefined || !isRecordGroup(group)) return false;
  const known: Readonly<Record<string, { readonly policy: string | null }>> = authorizationClasses;
  const policy = known[authorizationClass]?.policy ?? null;
  return policy !== null && policy !== 'records';
}

/** Operations on jobs of records prove a record identity where the execution runtime has no policies. */
export function withRecordIdentity(
  inner: Authenticator,
  workloads: Readonly<Record<string, WorkloadIdentity>>,
): Authenticator {
  return {
    authenticate(headers, operation) {
      const isBare = !Object.hasOwn(workloads, operation.authorizationClass);
      const asRecords = isBare && Object.hasOwn(workloads, RECORD_CLASS) && needsBoth(operation);
      return inner.authenticate(
        headers,
        asRecords ? { ...operation, authorizationClass: RECORD_CLASS } : operation,
      );
    },
  };
}

/** Operations on jobs of records need the right that the catalog names, and a right of the space beside it. */
export function withRecordRights(inner: Authorizer, { service, executionAccess }: Settings): Authorizer {
  const isOpen = service.environment === 'Development' && executionAccess.identityPolicies.length === 0;
  return {
    authorize(caller, operation, target) {
      const both = needsBoth(operation);
      if (!both || !isOpen) inner.authorize(caller, operation, target);
      if (!both) return;
      const accessOperation = recordRightOf(operation);
      inner.authorize(caller, { ...operation, authorizationClass: RECORD_CLASS, accessOperation }, target);
    },
  };
}
