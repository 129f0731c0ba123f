import type { OperationEntry } from '../../contracts/operation.ts';
import { type ExecutionGrantOf, executionAll, own } from './matrix-execution.ts';

/**
 * Who may call what of collections and records, as the documentation of access says it. Pure, and written without a look at
 * the code that decides it. A principal has one space; operations on jobs need a right of the execution runtime as well.
 */

export interface RecordGrantOf {
  readonly space: string;
  readonly operations: readonly string[];
}

export const recordOperations = ['read', 'write', 'delete', 'maintain'];
export const recordGroups: ReadonlySet<string> = new Set([
  'collections',
  'records',
  'traces',
  'objects',
  'artifacts',
  'embeddings',
  'graph',
  'rag',
  'retrieval',
]);

const inOwn = (...operations: readonly string[]): RecordGrantOf => ({ space: own.tenant, operations });
export const recordAll = inOwn(...recordOperations);

export interface RecordKind {
  readonly records: readonly RecordGrantOf[];
  readonly runs?: readonly ExecutionGrantOf[];
}

/** By the name of the caller. */
export const recordKinds: Readonly<Record<string, RecordKind>> = {
  ...Object.fromEntries(
    recordOperations.map((operation) => [
      `records: ${operation} only`,
      { records: [inOwn(operation)], runs: [executionAll] },
    ]),
  ),
  'records: two grants of one space': { records: [inOwn('read'), inOwn('write')], runs: [executionAll] },
  'records: all, and nothing of runs': { records: [recordAll] },
  'records: all, and reading runs': {
    records: [recordAll],
    runs: [{ ...executionAll, operations: ['read_run'] }],
  },
  'records: all, and runs of another tenant': {
    records: [recordAll],
    runs: [{ ...executionAll, tenants: ['other'] }],
  },
  'records: all, and runs of other handlers': {
    records: [recordAll],
    runs: [{ ...executionAll, handlers: [own.handler] }],
  },
  'records: another space': {
    records: [{ space: 'matrix-other', operations: recordOperations }],
    runs: [executionAll],
  },
  'records: a space with a name alike': {
    records: [{ space: own.tenant.toUpperCase(), operations: recordOperations }],
    runs: [executionAll],
  },
};

type Entry = Pick<OperationEntry, 'id' | 'authorizationClass' | 'accessOperation' | 'routes'>;

/** The right of the space for operations on jobs. */
const beside: Readonly<Record<string, string>> = {
  start_run: 'write',
  read_run: 'read',
  cancel_run: 'write',
};

const replacing: ReadonlySet<string> = new Set(['importCollection', 'startCollectionImportJob']);

/** Jobs whose findings are in their reports. */
const reporting: ReadonlySet<string> = new Set([
  'startRetrievalEvaluationJob',
  'startRetrievalEvaluationComparisonJob',
]);

/** The requests of the matrix name the product and the tenant wherever they can. */
export function expectedOfRecords(entry: Entry, { records, runs = [] }: RecordKind): 'through' | 403 {
  const { id, authorizationClass, accessOperation, routes } = entry;
  const ofJobs = authorizationClass === 'execution-policy';
  const right = ofJobs ? beside[accessOperation ?? ''] : (accessOperation ?? '');
  if (right === undefined || !recordOperations.includes(right)) {
    throw new Error(`no rule of the matrix covers the access operation ${accessOperation} of ${id}`);
  }
  const namesTenant = routes.some(({ query }) => query.some(({ name }) => name === 'tenantId'));
  // The requests of the matrix replace what the collection holds.
  const rights = [right, ...(replacing.has(id) ? ['delete'] : []), ...(reporting.has(id) ? ['read'] : [])];
  const holds = (each: string) =>
    records.some(
      ({ space, operations }) => operations.includes(each) && (!namesTenant || space === own.tenant),
    );
  if (!rights.every(holds)) return 403;
  if (!ofJobs) return 'through';
  const running = runs.filter(({ operations }) => operations.includes(accessOperation ?? ''));
  if (accessOperation !== 'start_run') return running.length > 0 ? 'through' : 403;
  const covers = ({ product, tenants, handlers }: ExecutionGrantOf) =>
    product === own.product &&
    (tenants.length === 0 || tenants.includes(own.tenant)) &&
    handlers.length === 0;
  return running.some(covers) ? 'through' : 403;
}

/** The settings of the grants, by principal. */
export function recordGrantSettings(
  granted: readonly (readonly [principal: string, grant: RecordGrantOf])[],
  audience: string,
  section = 'Server:RecordAccess',
): Record<string, string> {
  const settings: Record<string, string> = { [`${section}:AllowedAudiences:0`]: audience };
  for (const [index, [principal, { space, operations }]] of granted.entries()) {
    const policy = `${section}:IdentityPolicies:${index}`;
    settings[`${policy}:Principal`] = principal;
    settings[`${policy}:Space`] = space;
    for (const [at, operation] of operations.entries())
      settings[`${policy}:AllowedOperations:${at}`] = operation;
  }
  return settings;
}
