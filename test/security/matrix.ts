import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import {
  type ExecutionGrantOf,
  executionAll,
  executionKinds,
  executionRequest,
  expectedOfRuns,
  own,
  runParams,
} from './matrix-execution.ts';
import { expectedOfProviders, PROVIDER_CLASS, providerAll, providerKinds } from './matrix-providers.ts';
import {
  expectedOfRecords,
  type RecordGrantOf,
  recordAll,
  recordGroups,
  recordKinds,
} from './matrix-records.ts';
import { bodyAs, pathOf } from './requests.ts';
import { contractModels } from './schema-set.ts';

/**
 * Who may call what, as the specification says it: every operation of the catalog times every kind of caller. Pure, and
 * written without a look at the code that decides it.
 */

/** The grants of the tests: the tenant `own` is the one that is called, unless a caller is of another. */
interface CallerGrant {
  readonly tenants: readonly string[];
  readonly operations: readonly string[];
}

/** The credential that a caller presents. */
export type Credential =
  | 'none'
  /** A token of a known principal that does not hold. */
  | 'expired'
  | 'wrong audience'
  | 'forged'
  | 'known API key alone'
  | 'unknown API key alone'
  /** The header that is believed in Development only. */
  | 'development header'
  /** Headers in which proxies name the caller. */
  | 'proxy headers'
  | 'token'
  /** The token of a principal that no policy names. */
  | 'token of a stranger';

export interface CallerKind {
  readonly name: string;
  readonly credential: Credential;
  readonly grants: readonly CallerGrant[];
  /** The grants on the execution runtime; none where it is absent. */
  readonly runs?: readonly ExecutionGrantOf[];
  /** The grants on collections and records. */
  readonly records?: readonly RecordGrantOf[];
  /** The grants on providers. */
  readonly providers?: readonly RecordGrantOf[];
}

export const ownTenant = own.tenant;
const models = contractModels();
const otherTenant = 'matrix-other';
const allOperations = ['read', 'write', 'dispatch', 'export', 'restore', 'admin'];
const all: CallerGrant = { tenants: ['*'], operations: allOperations };
const onOwn = (...operations: readonly string[]): CallerGrant => ({ tenants: [ownTenant], operations });
const withToken = (name: string, ...grants: readonly CallerGrant[]): CallerKind => ({
  name,
  credential: 'token',
  grants,
});
const refused = (credential: Credential): CallerKind => ({ name: credential, credential, grants: [] });
const runs = [executionAll];
const records = [recordAll];
const providers = [providerAll];

export const callerKinds: readonly CallerKind[] = [
  refused('none'),
  // These name a principal who may do everything: only the credential is wrong.
  { name: 'expired token', credential: 'expired', grants: [all], runs, records, providers },
  { name: 'wrong audience', credential: 'wrong audience', grants: [all], runs, records, providers },
  { name: 'forged token', credential: 'forged', grants: [all], runs, records, providers },
  refused('known API key alone'),
  refused('unknown API key alone'),
  {
    name: 'development header outside Development',
    credential: 'development header',
    grants: [all],
    runs,
    records,
    providers,
  },
  { name: 'headers of a proxy', credential: 'proxy headers', grants: [all], runs, records, providers },
  refused('token of a stranger'),
  ...allOperations.slice(0, -1).map((operation) => withToken(`${operation} only`, onOwn(operation))),
  withToken('admin without restore', { tenants: ['*'], operations: ['admin'] }),
  withToken('restore of the tenant and admin', onOwn('restore'), { tenants: ['*'], operations: ['admin'] }),
  withToken(
    'restore of another tenant and admin',
    { tenants: [otherTenant], operations: ['restore'] },
    { tenants: ['*'], operations: ['admin'] },
  ),
  withToken('all of the tenant', onOwn('read', 'write', 'dispatch', 'export', 'restore')),
  withToken('other tenant', {
    tenants: [otherTenant],
    operations: ['read', 'write', 'dispatch', 'export', 'restore'],
  }),
  withToken('tenants with names alike', {
    tenants: [`${ownTenant}x`, 'matrix', ownTenant.toUpperCase()],
    operations: ['read', 'write', 'dispatch'],
  }),
  withToken('all tenants, reading', { tenants: ['*'], operations: ['read'] }),
  { ...withToken('all tenants', all), runs, records, providers },
  ...Object.entries(executionKinds).map(([name, each]) => ({ ...withToken(name), runs: each })),
  ...Object.entries(recordKinds).map(([name, each]) => ({ ...withToken(name), ...each })),
  ...Object.entries(providerKinds).map(([name, each]) => ({ ...withToken(name), providers: each })),
];

/** `through`: admitted, with any answer of the operation. `open`: the same, without a check of the caller. */
export type Expectation = 'open' | 'through' | 401 | 403 | 404;

type Entry = Pick<OperationEntry, 'id' | 'group' | 'authorizationClass' | 'accessOperation' | 'routes'>;

/** The rule of the operation's class for such a caller. Throws for a class without a rule. */
export function expected(entry: Entry, kind: CallerKind): Expectation {
  if (entry.authorizationClass === 'anonymous') return 'open';
  const { authorizationClass } = entry;
  const isOfRuns = executionClasses.has(authorizationClass);
  const isOfRecords = recordGroups.has(entry.group);
  const isOfProviders = authorizationClass === PROVIDER_CLASS;
  if (authorizationClass !== 'canonical-policy' && !isOfRuns && !isOfRecords && !isOfProviders) {
    throw new Error(`no rule of the matrix covers the class ${authorizationClass} of ${entry.id}`);
  }
  if (unaccepted.has(kind.credential)) return 401;
  if (kind.credential !== 'token') return 403;
  if (isOfProviders) return expectedOfProviders(entry, kind.providers ?? []);
  if (isOfRecords) return expectedOfRecords(entry, { records: kind.records ?? [], runs: kind.runs ?? [] });
  if (isOfRuns) return expectedOfRuns(entry, kind.runs ?? []);
  return granted(entry, kind.grants) ? 'through' : 403;
}

const executionClasses: ReadonlySet<string> = new Set([
  'execution-policy',
  'execution-maintenance',
  'execution-worker',
]);

/** Credentials that prove nothing. The others hold, and the service then checks the caller's rights. */
const unaccepted: ReadonlySet<Credential> = new Set<Credential>([
  'none',
  'expired',
  'wrong audience',
  'forged',
  'unknown API key alone',
  'development header',
  'proxy headers',
]);

/** Whether the grants hold the access operation for the tenant of the path; without one in the path, for all tenants. */
function granted({ id, accessOperation, routes }: Entry, grants: readonly CallerGrant[]): boolean {
  if (accessOperation === null || !allOperations.includes(accessOperation)) {
    throw new Error(`no rule of the matrix covers the access operation ${accessOperation} of ${id}`);
  }
  const ofTenant = routes.every((route) => route.path.some(({ name }) => name === 'tenantId'));
  const holds = (operation: string, tenants: readonly string[]) =>
    grants.some(
      (each) =>
        each.operations.includes(operation) && tenants.some((tenant) => each.tenants.includes(tenant)),
    );
  const here = ofTenant && accessOperation !== 'admin' ? ['*', ownTenant] : ['*'];
  if (!holds(accessOperation, here)) return false;
  return accessOperation !== 'restore' || holds('admin', ['*']);
}

/** A service under test. Everything that is its own: how it is called, and what a kind of caller presents to it. */
export interface MatrixSubject {
  readonly entries: readonly OperationEntry[];
  readonly call: (request: InjectedRequest) => Promise<InjectedResponse>;
  readonly headersOf: (kind: CallerKind) => Promise<Readonly<Record<string, string>>>;
  /** A run of what the matrix grants; the operations of runs are only called where there is one. */
  readonly runId?: string;
  /** Calls one case of this number of cases: each kind of caller and each route, but not each pair of them. */
  readonly oneOf?: number;
}

interface Deviation {
  readonly operation: string;
  readonly caller: string;
  readonly expected: Expectation;
  readonly answered: number;
}

/** Calls every route of every operation as every kind of caller; gives how many cases there were and which deviate. */
export async function runMatrix({ entries, call, headersOf, runId = 'x', oneOf = 1 }: MatrixSubject) {
  const deviations: Deviation[] = [];
  let count = 0;
  const places = entries.flatMap((entry) =>
    entry.routes.map((route) => ({ entry, route, request: requestOf(entry, route, runId) })),
  );
  for (const [row, kind] of callerKinds.entries()) {
    const presented = await headersOf(kind);
    for (const [column, { entry, route, request }] of places.entries()) {
      if ((row + column) % oneOf !== 0) continue;
      count += 1;
      const wanted = expected(entry, kind);
      const headers = { ...presented, ...request.headers };
      const { status } = await call({ ...request, headers });
      if (matches(entry, wanted, status)) continue;
      deviations.push({
        operation: route.operationId,
        caller: kind.name,
        expected: wanted,
        answered: status,
      });
    }
  }
  return { count, deviations };
}

function requestOf(
  entry: OperationEntry,
  route: OperationRoute,
  runId: string,
): Omit<InjectedRequest, 'headers'> & { readonly headers: Readonly<Record<string, string>> } {
  // The examples of the contract are about this collection.
  const known: Readonly<Record<string, string>> = {
    tenantId: ownTenant,
    collection: 'articles',
    ...runParams(runId),
  };
  const { query, body } = requestFor(entry);
  const params = Object.fromEntries(route.path.map(({ name }) => [name, known[name] ?? 'x']));
  const sent = bodyAs(entry, body as Json | undefined);
  const isForm = entry.requestMediaType === 'multipart/form-data';
  return {
    method: route.method,
    path: `${pathOf(route, params)}${query}`,
    headers: isForm ? { 'Content-Type': sent.type ?? '' } : {},
    ...(body && { body: sent.body }),
  };
}

function matches({ authorizationClass, group }: Entry, wanted: Expectation, status: number): boolean {
  if (typeof wanted === 'number') return status === wanted;
  // A record that a caller may not see must exist for other callers, or the refusal would prove nothing.
  const hidesRuns = executionClasses.has(authorizationClass) && !recordGroups.has(group);
  const hidden = hidesRuns && (status === 404 || status === 400);
  return status < 500 && status !== 401 && status !== 403 && !hidden;
}

/**
 * Who may call the rest is decided by the path, before the body is read. Where a job takes a product, it is one that the
 * service knows: whether it does is no question of rights.
 */
function requestFor(entry: OperationEntry): ReturnType<typeof executionRequest> {
  // The service decides about the tenant of the query once it knows that the body is one of the operation.
  if (recordGroups.has(entry.group) || entry.authorizationClass === PROVIDER_CLASS)
    return { query: queryOfOwner(entry), body: exampleOf(entry) };
  if (!executionClasses.has(entry.authorizationClass)) return { query: queryOfOwner(entry), body: undefined };
  const { query, body } = executionRequest(entry);
  if (body === undefined || entry.requestSchema === null) return { query, body };
  const { properties = {} } = models.model(entry.requestSchema);
  return {
    query,
    body: Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(properties, name))),
  };
}

function exampleOf({ requestSchema }: OperationEntry): object | undefined {
  if (requestSchema === null) return undefined;
  return models.model(requestSchema).examples?.[0] as object | undefined;
}

const owner: Readonly<Record<string, string>> = { productId: own.product, tenantId: ownTenant };

function queryOfOwner({ routes }: OperationEntry): string {
  const named = routes.flatMap(({ query }) => query.filter(({ name }) => Object.hasOwn(owner, name)));
  const pairs = new Map(named.map(({ name }) => [name, owner[name] ?? '']));
  return pairs.size === 0 ? '' : `?${new URLSearchParams([...pairs]).toString()}`;
}

/**
 * Operations for which the rule of their class does not hold, with the reason. There are none, and a test holds their number
 * at most where it is.
 */
export const exceptions: Readonly<Record<string, string>> = {};
