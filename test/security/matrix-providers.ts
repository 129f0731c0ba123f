import type { OperationEntry } from '../../contracts/operation.ts';
import { own } from './matrix-execution.ts';
import type { RecordGrantOf } from './matrix-records.ts';

/**
 * Who may call what of providers, as the documentation of access says it. Pure, and written without a look at the code that
 * decides it. Rights of records and of runs say nothing here.
 */

export const PROVIDER_CLASS = 'provider-policy';
export const providerOperations = ['read', 'run', 'qualify'];

const inOwn = (...operations: readonly string[]): RecordGrantOf => ({ space: own.tenant, operations });
export const providerAll = inOwn(...providerOperations);

/** By the name of the caller. */
export const providerKinds: Readonly<Record<string, readonly RecordGrantOf[]>> = {
  ...Object.fromEntries(
    providerOperations.map((operation) => [`providers: ${operation} only`, [inOwn(operation)]]),
  ),
  'providers: two grants of one space': [inOwn('read'), inOwn('run')],
  'providers: another space': [{ space: 'matrix-other', operations: providerOperations }],
  'providers: a space with a name alike': [
    { space: own.tenant.toUpperCase(), operations: providerOperations },
  ],
};

/** The requests of the matrix name the tenant wherever they can. */
export function expectedOfProviders(
  { id, accessOperation, routes }: Pick<OperationEntry, 'id' | 'accessOperation' | 'routes'>,
  granted: readonly RecordGrantOf[],
): 'through' | 403 {
  const right = accessOperation ?? '';
  if (!providerOperations.includes(right))
    throw new Error(`no rule of the matrix covers the access operation ${accessOperation} of ${id}`);
  const namesTenant = routes.some(({ query }) => query.some(({ name }) => name === 'tenantId'));
  const holds = granted.some(
    ({ space, operations }) => operations.includes(right) && (!namesTenant || space === own.tenant),
  );
  return holds ? 'through' : 403;
}
