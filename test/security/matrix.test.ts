import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import { composeIdentity } from '../../functions/compose/identity.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { hashApiKey } from '../../functions/identity/api-keys.ts';
import { share } from '../support/effort.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { type CallerKind, callerKinds, exceptions, expected, ownTenant, runMatrix } from './matrix.ts';
import {
  apiKey,
  executionSettings,
  grants,
  headersFrom,
  pretended,
  principalOf,
  serveNothing,
} from './matrix-callers.ts';
import { type ExecutionGrantOf, own } from './matrix-execution.ts';
import { allEntries } from './target.ts';

const besideKey = { header: 'X-Serverless-Authorization', beside: { 'X-Svc-Api-Key': apiKey } };
const base = allEntries.find(({ id }) => id === 'commitCanonicalTransaction') as OperationEntry;
const kindOf = (name: string) => callerKinds.find((kind) => kind.name === name) as CallerKind;

/** Operations that the catalog does not have yet: every access operation, for one tenant and for all of them. */
const later: readonly OperationEntry[] = ['read', 'write', 'dispatch', 'export', 'restore', 'admin'].flatMap(
  (accessOperation) =>
    ['with', 'without'].map((tenant) => ({
      ...base,
      id: `${accessOperation}${tenant}`,
      accessOperation,
      routes: base.routes.map((route) => ({
        ...route,
        segments: [
          { literal: 'later' },
          { literal: accessOperation },
          ...(tenant === 'with' ? [{ param: 'tenantId' }] : []),
        ],
        path: tenant === 'with' ? route.path : [],
      })),
    })),
);

describe('D01: every operation times every kind of caller', () => {
  let keyed: IssuedService;
  let plain: IssuedService;
  let runs: { readonly keyed: string; readonly plain: string };
  let besideAKey: Awaited<ReturnType<typeof runMatrix>>;
  const details = new Set<string>();
  beforeAll(async () => {
    keyed = await startIssuedService(grants, {
      ...executionSettings,
      'Server:ApiKeyHashes:0': hashApiKey(apiKey),
    });
    plain = await startIssuedService(grants, executionSettings);
    runs = { keyed: await ownRun(keyed), plain: await ownRun(plain) };
    const call = async (request: InjectedRequest) => {
      const answer = await keyed.call(request);
      if ([401, 403].includes(answer.status)) details.add(answer.json<{ detail: string }>().detail);
      return answer;
    };
    const headersOf = headersFrom(keyed, besideKey);
    besideAKey = await runMatrix({ entries: allEntries, call, headersOf, runId: runs.keyed });
  });
  afterAll(async () => {
    await Promise.all([keyed.close(), plain.close()]);
  });

  test('B05: is answered as its class says, beside an API key', () => {
    const { count, deviations } = besideAKey;
    const routes = allEntries.reduce((sum, { routes: each }) => sum + each.length, 0);
    expect(count).toBe(routes * callerKinds.length);
    expect(deviations.filter(({ operation }) => !Object.hasOwn(exceptions, operation))).toEqual([]);
    expect(keyed.lines).toEqual([]);
  });

  test('is answered as its class says, where no API key is in use', async () => {
    const headersOf = headersFrom(plain, { header: 'Authorization', beside: {} });
    const subject = { entries: allEntries, call: plain.call, headersOf, runId: runs.plain };
    // The first service gets every case: authorization is the same, and who the caller is does not depend on the operation.
    const { deviations } = await runMatrix({ ...subject, oneOf: share(4, 1) });
    // A key means nothing to a service without keys, and counts as no credential.
    expect(deviations.filter(({ caller }) => caller !== 'known API key alone')).toEqual([]);
    for (const { answered } of deviations) expect(answered).toBe(401);
  });

  test('the policies of the service decide so about operations that are still to come', async () => {
    const identity = await composeIdentity(keyed.settings, machine, () => {});
    const subject = { ...serveNothing(later, identity), headersOf: headersFrom(keyed, besideKey) };
    expect(await runMatrix(subject)).toEqual({ count: later.length * callerKinds.length, deviations: [] });
  });

  test('J02: a refusal is one of our own sentences and never a message of the library', () => {
    expect([...details].sort()).toEqual([
      'An API key is needed.',
      'The API key was not accepted.',
      'The caller may not do this.',
      'The identity token has expired.',
      'The identity token is for another audience.',
      'The signature of the identity token does not hold.',
    ]);
  });

  test('only the intended operations are open', () => {
    const open = allEntries.filter((entry) => expected(entry, kindOf('none')) === 'open');
    expect(open.map(({ id }) => id).sort()).toEqual([
      'getHealth',
      'getOpenApiContract',
      'getPublicSchemaContract',
      'getReadiness',
    ]);
  });
});

/**
 * A run that the grants of the matrix cover, with an artifact and a checkpoint, so that permitted reads find their record.
 */
async function ownRun({ call, issuer }: IssuedService): Promise<string> {
  const email = principalOf(kindOf('runs: exactly these'));
  const token = await issuer.mint({ email, audience: serviceAudience });
  const headers = { 'X-Serverless-Authorization': `Bearer ${token}`, 'X-Svc-Api-Key': apiKey };
  const post = async (path: string, body: object) => {
    const answer = await call({ method: 'POST', path: `/execution/${path}`, headers, body });
    expect([200, 202], answer.body).toContain(answer.status);
    return answer.json<{ id: string; leaseKey: string; leaseToken: string }>();
  };
  const scope = { productId: own.product, tenantId: own.tenant };
  const { id } = await post('runs', { handlerId: own.handler, scope });
  const workerId = own.worker;
  const lease = await post('workers/leases', {
    workerId,
    handlerIds: [own.handler],
    runId: id,
    ttlSeconds: 600,
  });
  const proof = { leaseKey: lease.leaseKey, leaseToken: lease.leaseToken, workerId };
  await post('workers/leases/artifacts', { ...proof, artifact: { name: 'x', text: 'x' } });
  await post('workers/leases/checkpoints', { ...proof, checkpoint: { key: 'x' } });
  return id;
}

test('the exceptions only become fewer', () => {
  expect(Object.keys(exceptions).length).toBeLessThanOrEqual(0);
  expect(Object.keys(exceptions).filter((id) => !allEntries.some((entry) => entry.id === id))).toEqual([]);
});

test('D07: a restore needs a grant of its own for the tenant, and admin', () => {
  const restore = { ...base, accessOperation: 'restore' };
  const through = callerKinds.filter((kind) => expected(restore, kind) === 'through').map(({ name }) => name);
  expect(through).toEqual(['restore of the tenant and admin', 'all tenants']);
});

test('an operation without a tenant in its path needs a grant for all tenants', () => {
  const through = (id: string) => {
    const entry = later.find((each) => each.id === id) as OperationEntry;
    return callerKinds.filter((kind) => expected(entry, kind) === 'through').map(({ name }) => name);
  };
  expect(through('readwithout')).toEqual(['all tenants, reading', 'all tenants']);
  const admins = callerKinds.filter(
    (kind) =>
      kind.credential === 'token' && kind.grants.some(({ operations }) => operations.includes('admin')),
  );
  expect(through('adminwithout')).toEqual(admins.map(({ name }) => name));
  expect(through('adminwith')).toEqual(admins.map(({ name }) => name));
});

describe('the matrix fails for', () => {
  test('an operation of a class or with an access operation that it has no rule for', async () => {
    const stray = { ...base, authorizationClass: 'depot-policy' };
    await expect(runMatrix(pretended([stray], () => true))).rejects.toThrow('the class depot-policy');
    const odd = { ...base, accessOperation: 'look' };
    await expect(runMatrix(pretended([odd], () => true))).rejects.toThrow('the access operation look');
  });

  const can = ({ grants: each }: CallerKind, operation: string) =>
    each.some(({ operations }) => operations.includes(operation));
  const planted: readonly (readonly [what: string, lets: (kind: CallerKind) => boolean])[] = [
    ['a policy that lets everybody in who has a name', () => true],
    ['a policy that refuses every caller', () => false],
    ['a policy that forgets the tenant', (kind) => can(kind, 'write')],
    [
      'a policy that forgets the operation',
      ({ grants: each }) => each.some(({ tenants }) => tenants.includes(ownTenant) || tenants.includes('*')),
    ],
    [
      'a policy that takes admin for everything',
      (kind) => expected(base, kind) === 'through' || can(kind, 'admin'),
    ],
    [
      'a policy that compares the beginning of a tenant',
      ({ grants: each }) =>
        each.some(
          ({ tenants, operations }) =>
            operations.includes('write') &&
            tenants.some((tenant) => tenant === '*' || tenant.startsWith(ownTenant)),
        ),
    ],
  ];
  test.each(planted)('%s', async (_, lets) => {
    expect((await runMatrix(pretended([base], lets))).deviations).not.toEqual([]);
  });

  const ofRuns = allEntries.filter(({ group }) => group === 'execution');
  const sound = (kind: CallerKind, entry: OperationEntry) => {
    const wanted = expected(entry, kind);
    return wanted === 404 ? ('hidden' as const) : wanted === 'through';
  };
  /** The decision under grants that are misread. */
  const misread = (change: (grant: ExecutionGrantOf) => ExecutionGrantOf) => {
    return (kind: CallerKind, entry: OperationEntry) =>
      sound({ ...kind, runs: (kind.runs ?? []).map(change) }, entry);
  };
  const plantedOfRuns: readonly (readonly [
    what: string,
    lets: (kind: CallerKind, entry: OperationEntry) => boolean | 'hidden',
  ])[] = [
    ['forgets the product', misread((grant) => ({ ...grant, product: own.product }))],
    ['forgets the tenant', misread((grant) => ({ ...grant, tenants: [] }))],
    ['forgets the handler', misread((grant) => ({ ...grant, handlers: [] }))],
    ['forgets the worker', misread((grant) => ({ ...grant, worker: own.worker }))],
    [
      'forgets the operation',
      misread((grant) => ({
        ...grant,
        operations: ['start_run', 'read_run', 'cancel_run', 'raise_event', 'worker', 'maintenance'],
      })),
    ],
    [
      'adds grants up',
      (kind, entry) => {
        const { runs = [] } = kind;
        const lists = { tenants: runs.flatMap((each) => each.tenants), product: own.product };
        return sound({ ...kind, runs: runs.map((grant) => ({ ...grant, ...lists })) }, entry);
      },
    ],
    [
      'lets a caller that may cancel read',
      misread((grant) => ({
        ...grant,
        operations: grant.operations.flatMap((each) => (each === 'cancel_run' ? [each, 'read_run'] : [each])),
      })),
    ],
    [
      'tells that there is a run which is not shown',
      (kind, entry) => (sound(kind, entry) === 'hidden' ? false : sound(kind, entry)),
    ],
    [
      'shows a run that is not to be shown',
      (kind, entry) => (sound(kind, entry) === 'hidden' ? true : sound(kind, entry)),
    ],
  ];
  test.each(plantedOfRuns)('a policy of runs that %s', async (_, lets) => {
    expect((await runMatrix(pretended(ofRuns, lets))).deviations).not.toEqual([]);
  });

  test('nothing, where the policy of runs is sound', async () => {
    expect((await runMatrix(pretended(ofRuns, sound))).deviations).toEqual([]);
  });

  test('an operation that is served to everybody', async () => {
    const subject = pretended([{ ...base, authorizationClass: 'anonymous' }], () => true);
    const { deviations } = await runMatrix({ ...subject, entries: [base] });
    expect(deviations.length).toBeGreaterThan(callerKinds.length / 2);
  });

  test('nothing, where the policy is sound', async () => {
    const { deviations } = await runMatrix(pretended([base], (kind) => expected(base, kind) === 'through'));
    expect(deviations).toEqual([]);
  });
});
