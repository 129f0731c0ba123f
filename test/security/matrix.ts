import type { OperationEntry } from '../../contracts/operation.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import { pathOf } from './requests.ts';

/**
 * Who may call what, as the specification says it: every operation of the catalog times every kind of caller. Pure, and
 * written without a look at the code that decides it.
 */

/** What the tests grant: the tenant `own` is the one that is called, unless a caller is of another. */
export interface CallerGrant {
  readonly tenants: readonly string[];
  readonly operations: readonly string[];
}

/** What a caller presents. */
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
  /** Headers in which proxies tell who called them. */
  | 'proxy headers'
  | 'token'
  /** Of a principal that no policy names. */
  | 'token of a stranger';

export interface CallerKind {
  readonly name: string;
  readonly credential: Credential;
  readonly grants: readonly CallerGrant[];
}

export const ownTenant = 'matrix-own';
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

export const callerKinds: readonly CallerKind[] = [
  refused('none'),
  // These belong to somebody who may do everything: only the credential is wrong.
  { name: 'expired token', credential: 'expired', grants: [all] },
  { name: 'wrong audience', credential: 'wrong audience', grants: [all] },
  { name: 'forged token', credential: 'forged', grants: [all] },
  refused('known API key alone'),
  refused('unknown API key alone'),
  { name: 'development header outside Development', credential: 'development header', grants: [all] },
  { name: 'headers of a proxy', credential: 'proxy headers', grants: [all] },
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
  withToken('all tenants', all),
];

/** `through`: let in, whatever the operation then answers. `open`: the same, and nobody was asked. */
export type Expectation = 'open' | 'through' | 401 | 403;

type Entry = Pick<OperationEntry, 'id' | 'authorizationClass' | 'accessOperation' | 'routes'>;

/** What the class of the operation says about such a caller. Throws for a class that nobody wrote a rule for. */
export function expected(entry: Entry, kind: CallerKind): Expectation {
  if (entry.authorizationClass === 'anonymous') return 'open';
  if (entry.authorizationClass !== 'canonical-policy') {
    throw new Error(`no rule of the matrix covers the class ${entry.authorizationClass} of ${entry.id}`);
  }
  if (unaccepted.has(kind.credential)) return 401;
  return kind.credential === 'token' && granted(entry, kind.grants) ? 'through' : 403;
}

/** What proves nothing. The other credentials hold, and are then asked what they may do. */
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
}

export interface Deviation {
  readonly operation: string;
  readonly caller: string;
  readonly expected: Expectation;
  readonly answered: number;
}

/** Calls every route of every operation as every kind of caller; gives how many cases there were and which deviate. */
export async function runMatrix({ entries, call, headersOf }: MatrixSubject) {
  const deviations: Deviation[] = [];
  let count = 0;
  for (const kind of callerKinds) {
    const headers = await headersOf(kind);
    for (const entry of entries) {
      const wanted = expected(entry, kind);
      for (const route of entry.routes) {
        const params = Object.fromEntries(
          route.path.map(({ name }) => [name, name === 'tenantId' ? ownTenant : 'x']),
        );
        const answer = await call({ method: route.method, path: pathOf(route, params), headers });
        count += 1;
        if (!matches(wanted, answer.status)) {
          deviations.push({
            operation: route.operationId,
            caller: kind.name,
            expected: wanted,
            answered: answer.status,
          });
        }
      }
    }
  }
  return { count, deviations };
}

function matches(wanted: Expectation, status: number): boolean {
  if (typeof wanted === 'number') return status === wanted;
  return status < 500 && status !== 401 && status !== 403;
}

/**
 * Operations for which the rule of their class does not hold, with the reason. There are none, and a test holds their number
 * at most where it is.
 */
export const exceptions: Readonly<Record<string, string>> = {};
