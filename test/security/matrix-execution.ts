import type { OperationEntry } from '../../contracts/operation.ts';

/**
 * Who may call what of the execution runtime, as the specification says it. Pure, and written without a look at the code
 * that decides it. One grant must cover all that a request names; grants do not add up.
 */

export interface ExecutionGrantOf {
  readonly product: string;
  /** Empty for all. */
  readonly tenants: readonly string[];
  /** Empty for all. */
  readonly handlers: readonly string[];
  readonly worker: string;
  readonly operations: readonly string[];
}

/** The subject of every request of the matrix. */
export const own = {
  product: 'matrix-product',
  tenant: 'matrix-own',
  handler: 'matrix.handler',
  worker: 'matrix-worker',
} as const;

export const executionOperations = [
  'start_run',
  'read_run',
  'cancel_run',
  'raise_event',
  'worker',
  'maintenance',
];

const exact: ExecutionGrantOf = {
  product: own.product,
  tenants: [own.tenant],
  handlers: [own.handler],
  worker: own.worker,
  operations: executionOperations,
};
const but = (members: Partial<ExecutionGrantOf>): ExecutionGrantOf => ({ ...exact, ...members });

export const executionAll: ExecutionGrantOf = but({ tenants: [], handlers: [] });

/** By the name of the caller. */
export const executionKinds: Readonly<Record<string, readonly ExecutionGrantOf[]>> = {
  ...Object.fromEntries(
    executionOperations.map((operation) => [`runs: ${operation} only`, [but({ operations: [operation] })]]),
  ),
  'runs: all but reading': [
    but({ operations: executionOperations.filter((operation) => operation !== 'read_run') }),
  ],
  'runs: all of the product': [executionAll],
  'runs: exactly these': [exact],
  'runs: another product': [{ ...executionAll, product: 'matrix-other' }],
  'runs: another tenant': [but({ tenants: ['other'] })],
  'runs: another handler': [but({ handlers: ['matrix.other'] })],
  'runs: another worker': [but({ worker: 'matrix-other' })],
  'runs: names alike': [
    but({ tenants: [`${own.tenant}x`, 'matrix', own.tenant.toUpperCase()] }),
    but({ handlers: [`${own.handler}x`, 'matrix', own.handler.toUpperCase()] }),
    but({ product: 'matrix' }),
    but({ product: own.product.toUpperCase() }),
  ],
  'runs: grants that cover it only together': [
    but({ tenants: ['other'], operations: executionOperations }),
    but({ handlers: ['matrix.other'] }),
    { ...executionAll, product: 'matrix-other' },
  ],
};

/** `404`: a caller who may not see a run does not learn that it exists. */
export type ExecutionExpectation = 'through' | 403 | 404;

type Entry = Pick<OperationEntry, 'id' | 'authorizationClass' | 'accessOperation' | 'routes'>;

/** The decision beyond the access operation: by the product, the tenant and the handler of the run, or by the worker. */
export function expectedOfRuns(entry: Entry, grants: readonly ExecutionGrantOf[]): ExecutionExpectation {
  const { id, authorizationClass, accessOperation, routes } = entry;
  if (accessOperation === null || !executionOperations.includes(accessOperation)) {
    throw new Error(`no rule of the matrix covers the access operation ${accessOperation} of ${id}`);
  }
  const holding = grants.filter(({ operations }) => operations.includes(accessOperation));
  if (holding.length === 0) return 403;
  if (authorizationClass === 'execution-worker') {
    const asWorker = holding.filter(({ worker }) => worker === own.worker);
    if (id !== leasing) return asWorker.length > 0 ? 'through' : 403;
    return asWorker.some(({ handlers }) => admits(handlers, own.handler)) ? 'through' : 403;
  }
  if (accessOperation === 'maintenance' || id === listing) return 'through';
  const ofScope = holding.filter(
    ({ product, tenants }) => product === own.product && admits(tenants, own.tenant),
  );
  if (id === discovering) return ofScope.length > 0 ? 'through' : 403;
  if (ofScope.some(({ handlers }) => admits(handlers, own.handler))) return 'through';
  return routes.every((route) => route.path.some(({ name }) => name === 'runId')) ? 404 : 403;
}

// These operations name no single run of a scope: their answers hold only the runs that the caller may see.
const listing = 'listExecutionRuns';
const discovering = 'getEffectiveExecutionRuntime';
const leasing = 'leaseExternalExecutionRun';

function admits(list: readonly string[], id: string): boolean {
  return list.length === 0 || list.includes(id);
}

/** Path parameters, by name, for a run that has an artifact and a checkpoint. */
export function runParams(runId: string): Readonly<Record<string, string>> {
  return { runId, artifactRef: 'x', key: 'x' };
}

/** The query and body that make the request well-formed and address it to the subject of the matrix. */
export function executionRequest({ id, authorizationClass }: Entry): {
  readonly query: string;
  readonly body: object | undefined;
} {
  const scope = { productId: own.product, tenantId: own.tenant };
  if (id === discovering) return { query: `?${new URLSearchParams(scope).toString()}`, body: undefined };
  if (id === 'startExecutionRun') return { query: '', body: { handlerId: own.handler, scope } };
  if (id === 'raiseExecutionEvent') return { query: '', body: { name: 'x' } };
  if (authorizationClass !== 'execution-worker') return { query: '', body: undefined };
  if (id === leasing) return { query: '', body: { workerId: own.worker, handlerIds: [own.handler] } };
  // One body for all of them: what an operation does not take is left out where the request is written.
  const proof = { leaseKey: 'external-worker-run-x', leaseToken: 'x', workerId: own.worker };
  const more = {
    writeId: 'matrix',
    child: { handlerId: own.handler },
    update: {},
    type: 'x',
    artifact: { name: 'x', text: 'x' },
    checkpoint: { key: 'x' },
    key: 'x',
    kind: 'external_event',
    name: 'x',
    result: {},
  };
  return { query: '', body: { ...proof, ...more } };
}

/** The settings of the grants, by principal, and of the products that they are about. */
export function executionGrantSettings(
  granted: readonly (readonly [principal: string, grant: ExecutionGrantOf])[],
  audience: string,
): Record<string, string> {
  const settings: Record<string, string> = { 'Server:ExecutionAccess:AllowedAudiences:0': audience };
  for (const [at, product] of [...new Set(granted.map(([, each]) => each.product))].entries())
    settings[`ExecutionRuntime:ProductPolicies:${at}:ProductId`] = product;
  for (const [index, [principal, grant]] of granted.entries()) {
    const policy = `Server:ExecutionAccess:IdentityPolicies:${index}`;
    settings[`${policy}:Principal`] = principal;
    settings[`${policy}:ProductId`] = grant.product;
    settings[`${policy}:WorkerId`] = grant.worker;
    const lists = {
      AllowedTenantIds: grant.tenants,
      AllowedHandlerIds: grant.handlers,
      AllowedOperations: grant.operations,
    };
    for (const [name, list] of Object.entries(lists))
      for (const [at, item] of list.entries()) settings[`${policy}:${name}:${at}`] = item;
  }
  return settings;
}
