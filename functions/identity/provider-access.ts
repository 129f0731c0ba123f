import type { ClassPolicy } from './authorizer.ts';
import { permissionDenied } from './grants.ts';
import type { RecordAccess } from './record-access.ts';

/**
 * The rights of `Server:ProviderAccess`: `read` shows providers and jobs, `run` starts and cancels runs, `qualify` calls providers for
 * a test. Each right costs more than the one before. A principal has one space, which holds its jobs and traces.
 * @testonly
 */
export type ProviderAccessOperation = 'read' | 'run' | 'qualify';

export type ProviderAccess = RecordAccess<ProviderAccessOperation>;

/** The policy of the class `provider-policy`. It runs before the query is read. */
export function createProviderPolicy(access: ProviderAccess): ClassPolicy {
  return (caller, { accessOperation }) => {
    if (!isProviderOperation(accessOperation)) throw permissionDenied({ right: accessOperation });
    access.spaceOf(caller, accessOperation);
  };
}

const providerOperations: ReadonlySet<unknown> = new Set<ProviderAccessOperation>(['read', 'run', 'qualify']);

function isProviderOperation(operation: string | null): operation is ProviderAccessOperation {
  return providerOperations.has(operation);
}
