import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import type { World } from '../../functions/kernel/world.ts';
import { cases, forAll, patienceMs } from '../support/effort.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { hurried } from '../support/service.ts';
import { noAnswers } from './arbitrary.ts';
import { type ExecutionGrantOf, executionGrantSettings, executionOperations } from './matrix-execution.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { type Draft, pathOf, requestOf, validDrafts } from './requests.ts';
import { ARTIFACT, CHECKPOINT, furnishRuns, HANDLER, type Proof, type Runs, wordsOf } from './runs.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, routesOf } from './target.ts';

/** Runs of several products and tenants in one deployment: no caller sees, moves or ends those of another. */

vi.setConfig({ testTimeout: patienceMs });

interface Party {
  readonly name: string;
  readonly productId: string;
  readonly tenantId: string;
  readonly workerId: string;
  readonly mark: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly runs: Runs;
}

// Each scope differs from another in one thing only; two are workers of the same name.
const given = [
  ['one', 'product-a', 'tenant-1', 'worker-1'],
  ['another-tenant', 'product-a', 'tenant-2', 'worker-2'],
  ['another-product', 'product-b', 'tenant-1', 'worker-3'],
  ['same-worker', 'product-b', 'tenant-2', 'worker-1'],
] as const;

const set = contractModels();
const routes = new Map(
  routesOf(allEntries.filter(({ group }) => group === 'execution')).map((each) => [each.name, each]),
);
// The keys of the issuer are fetched in the time that the machine takes; only what requests ask to wait for is hurried.
let fetched = false;
const world: World = {
  ...machine,
  timers: {
    after: (delayMs, callback) => (fetched ? hurried : machine).timers.after(delayMs, callback),
  },
};
let service: IssuedService;
let parties: readonly Party[];

beforeAll(async () => {
  const granted = given.map(([name, product, tenant, worker]): [string, ExecutionGrantOf] => {
    const operations = executionOperations.filter((operation) => operation !== 'maintenance');
    return [
      `${name}@project.example`,
      { product, tenants: [tenant], handlers: [HANDLER], worker, operations },
    ];
  });
  // The store of documents does not start without a policy either.
  const nobody = { principal: 'nobody@project.example', tenants: ['none'], operations: ['read'] };
  service = await startIssuedService(
    [nobody],
    {
      ...executionGrantSettings(granted, serviceAudience),
      'ExecutionRuntime:ExternalHandlers:0:HandlerId': HANDLER,
    },
    world,
  );
  const made: Party[] = [];
  for (const [name, productId, tenantId, workerId] of given) {
    const token = await service.issuer.mint({ email: `${name}@project.example`, audience: serviceAudience });
    const headers = { Authorization: `Bearer ${token}` };
    const owner = { productId, tenantId, workerId, mark: `mark-${randomUUID()}`, headers };
    made.push({ ...owner, name, runs: await furnishRuns(service.call, owner) });
  }
  parties = made;
  fetched = true;
});
afterAll(() => service.close());

const others = (own: Party) => parties.filter((party) => party !== own);
const namesOf = ({ runs: { ids, proof, artifactId } }: Party) => [
  ...Object.values(ids),
  proof.leaseToken,
  artifactId,
];

/** Rejects an answer in which a value belongs to another owner than `own`. */
function checkOwn(own: Party, answer: Pick<InjectedResponse, 'status' | 'body'>): void {
  for (const other of others(own)) {
    if (answer.body.includes(other.mark)) throw new Error(`content of ${other.name}: ${answer.body}`);
    // A refusal may repeat nothing either.
    const name = namesOf(other).find((each) => answer.body.includes(each));
    if (name !== undefined) throw new Error(`${name} of ${other.name}: ${answer.body}`);
  }
}

function withHeaders(own: Party, request: InjectedRequest): InjectedRequest {
  const already = (request.headers ?? []) as readonly (readonly [string, string])[];
  return { ...request, headers: [...already, ...Object.entries(own.headers)] };
}

describe.each(given)('D12: a list of %s', (name) => {
  const list = async (own: Party, query: Readonly<Record<string, string>>) => {
    const path = `/execution/runs?${new URLSearchParams({ limit: '200', ...query }).toString()}`;
    const answer = await service.call({ method: 'GET', path, headers: own.headers });
    expect(answer.status, answer.body).toBe(200);
    checkOwn(own, answer);
    return answer.json<{ id: string; scope: { productId: string; tenantId: string } }[]>();
  };

  test('shows all of its own runs and none of others, however it is asked', async () => {
    const own = partyNamed(name);
    const ids = Object.values(own.runs.ids);
    const { productId, tenantId } = own;
    const all = await list(own, {});
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    for (const { scope } of all) expect(scope).toMatchObject({ productId, tenantId });
    for (const status of ['queued', 'running', 'waiting', 'succeeded'])
      expect(await list(own, { status }), status).not.toEqual([]);
    for (const query of [{ handlerId: HANDLER }, { 'tag.mark': own.mark }, { correlationId: own.mark }])
      expect((await list(own, query)).map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    for (const other of others(own)) {
      for (const query of [{ 'tag.mark': other.mark }, { correlationId: other.mark }])
        expect(await list(own, query)).toEqual([]);
      // A run without a given correlation id is found by its own id.
      for (const correlationId of Object.values(other.runs.ids))
        expect(await list(own, { correlationId })).toEqual([]);
    }
  });
});

/** A proof belongs to one lease, even when another caller sends it; parts drawn separately would rarely match. */
function consistent(draft: Draft): Draft {
  const { body } = draft;
  if (typeof body !== 'object' || body === null || !('leaseToken' in body)) return draft;
  const owner = parties.find(({ runs }) => runs.proof.leaseToken === body['leaseToken']);
  if (owner === undefined) return draft;
  const { leaseKey } = owner.runs.proof;
  return { ...draft, body: { ...body, leaseKey } };
}

/** An accepted request named no run, lease or artifact of another owner, except in a filter of a list. */
function checkUntouched(own: Party, { params, body }: Draft, answer: InjectedResponse): void {
  const { leaseKey, leaseToken } = (body ?? {}) as { leaseKey?: string; leaseToken?: string };
  const sent = [...Object.values(params), leaseKey, leaseToken].map(String);
  for (const other of others(own)) {
    const name = namesOf(other).find((each) => sent.some((text) => text.includes(each)));
    if (name !== undefined) throw new BrokenPromise(`accepted with ${name} of ${other.name}`, answer);
  }
}

/** Everything that the owner sees of its runs, so that every foreign change shows. */
async function portrait(own: Party): Promise<string> {
  const paths = Object.values(own.runs.ids).flatMap((id) => [
    `runs/${id}`,
    `runs/${id}/history?limit=200`,
    `runs/${id}/artifacts`,
    `runs/${id}/checkpoints/${CHECKPOINT}`,
  ]);
  const answers: string[] = [];
  for (const path of paths) {
    const answer = await service.call({ method: 'GET', path: `/execution/${path}`, headers: own.headers });
    answers.push(answer.status === 404 ? '404' : answer.body);
  }
  return answers.join('\n');
}

/** An answer without what differs from one request to the next. The rate limit counts the requests of an address. */
function bare({ status, headers, body }: InjectedResponse): string {
  const { ratelimit, ...fields } = headers;
  const id = headers['x-correlation-id'] ?? '';
  return `${status}\n${typeof ratelimit}\n${JSON.stringify(fields)}\n${body}`.replaceAll(
    id,
    '<correlation id>',
  );
}

const pairs = given.flatMap(([name]) =>
  given.filter(([other]) => other !== name).map(([other]) => [name, other] as const),
);
const partyNamed = (name: string) => parties.find((party) => party.name === name) as Party;

describe.each(pairs)('D04: %s is refused what is of %s', (attacker, victim) => {
  const ofRuns = [...routes.values()].filter(({ route }) => route.path.some(({ name }) => name === 'runId'));

  test.each(ofRuns)('D11: $name, as if there were no such run', async ({ entry, route }) => {
    const [own, other] = [partyNamed(attacker), partyNamed(victim)];
    const before = await portrait(other);
    const ask = (runId: string) => {
      const params = { runId, artifactRef: ARTIFACT, key: CHECKPOINT };
      const body = entry.requestSchema === null ? {} : { body: { name: 'x' } };
      return service.call({
        method: route.method,
        path: pathOf(route, params),
        headers: own.headers,
        ...body,
      });
    };
    const absent = await ask('01000000000000000000');
    expect(absent.status).toBe(404);
    for (const id of Object.values(other.runs.ids)) expect(bare(await ask(id))).toBe(bare(absent));
    expect(await portrait(other)).toBe(before);
    // The owner of the run gets an answer to the same request.
    const params = { runId: own.runs.ids.held, artifactRef: ARTIFACT, key: CHECKPOINT };
    const path = pathOf(route, params);
    if (route.method === 'GET')
      expect((await service.call({ method: 'GET', path, headers: own.headers })).status).toBe(200);
  });

  test('the token of a lease, K03: as its own worker or as the other', async () => {
    const [own, other] = [partyNamed(attacker), partyNamed(victim)];
    const before = await portrait(other);
    const stale = await workerCalls(own, { ...own.runs.proof, leaseToken: randomUUID() });
    const { proof, usedProof } = other.runs;
    const stolen = { ...proof, workerId: own.workerId };
    for (const [name, answer] of await workerCalls(own, stolen)) {
      expect(answer.json(), name).toMatchObject({ status: 409, code: 'lease_stale' });
      expect(bare(answer), name).toBe(bare(stale.get(name) as InjectedResponse));
    }
    for (const [, answer] of await workerCalls(own, { ...usedProof, workerId: own.workerId }))
      expect(answer.json()).toMatchObject({ status: 409, code: 'lease_stale' });
    // A worker id is bound to its caller; two callers that share one are distinguished by their runs.
    const code = own.workerId === other.workerId ? 'lease_stale' : 'permission_denied';
    for (const [name, answer] of await workerCalls(own, proof))
      expect(answer.json(), name).toMatchObject({ code });
    expect(await portrait(other)).toBe(before);
  });

  test('a run that waits for a worker', async () => {
    const [own, other] = [partyNamed(attacker), partyNamed(victim)];
    const before = await portrait(other);
    const lease = (body: object) =>
      service.call({
        method: 'POST',
        path: '/execution/workers/leases',
        headers: own.headers,
        body: { handlerIds: [HANDLER], ttlSeconds: 60, ...body },
      });
    expect((await lease({ workerId: own.workerId, runId: other.runs.ids.queued })).status).toBe(204);
    expect(await portrait(other)).toBe(before);
  });

  test('the ends of its runs: a wait for them is one for no run, and costs nothing', async () => {
    const [own, other] = [partyNamed(attacker), partyNamed(victim)];
    const [before, mine] = [await portrait(other), await portrait(own)];
    const waitFor = async (runId: string) => {
      const body = { ...own.runs.proof, kind: 'run', name: 'x', runId };
      const path = '/execution/workers/leases/wait';
      const answer = await service.call({ method: 'POST', path, headers: own.headers, body });
      const { outcome } = answer.json<{ outcome: { run: { status: string; runId: string } } }>();
      expect(outcome.run).toMatchObject({ runId, status: 'unknown' });
      return bare(answer).replaceAll(runId, 'id');
    };
    const nowhere = await waitFor('0'.repeat(20));
    for (const runId of Object.values(other.runs.ids)) expect(await waitFor(runId)).toBe(nowhere);
    expect([await portrait(other), await portrait(own)]).toEqual([before, mine]);
  });

  test('its idempotency keys', async () => {
    const [own, other] = [partyNamed(attacker), partyNamed(victim)];
    const key = randomUUID();
    const start = ({ productId, tenantId, headers }: Party, payload: string) =>
      service.call({
        method: 'POST',
        path: '/execution/runs',
        headers,
        body: { handlerId: HANDLER, scope: { productId, tenantId }, idempotencyKey: key, payload },
      });
    const first = (await start(other, 'a')).json<{ id: string }>();
    const second = await start(own, 'b');
    expect(second.status).toBe(202);
    expect(second.json<{ id: string }>().id).not.toBe(first.id);
  });
});

/** Every call of a worker with one proof, by the operation. */
async function workerCalls(own: Party, proof: Proof): Promise<Map<string, InjectedResponse>> {
  const bodies: Readonly<Record<string, object>> = {
    heartbeatExternalExecutionLease: {},
    reportExternalExecutionLease: { update: { currentStep: 'x' } },
    recordExternalExecutionLeaseEvent: { message: 'x' },
    putExternalExecutionLeaseArtifact: { artifact: { name: 'x', text: 'x' } },
    putExternalExecutionLeaseCheckpoint: { checkpoint: { key: CHECKPOINT } },
    getExternalExecutionLeaseCheckpoint: { key: CHECKPOINT },
    startExternalExecutionLeaseChild: { writeId: 'x', child: { handlerId: HANDLER } },
    waitExternalExecutionLease: { kind: 'external_event', name: 'x' },
    completeExternalExecutionLease: { result: {} },
    releaseExternalExecutionLease: {},
  };
  const answers = new Map<string, InjectedResponse>();
  for (const { entry, route } of routes.values()) {
    if (entry.authorizationClass !== 'execution-worker' || entry.id === 'leaseExternalExecutionRun') continue;
    const body = bodies[entry.id];
    if (body === undefined) throw new Error(`this test has no body for ${entry.id}`);
    const request = { method: route.method, path: pathOf(route, {}), headers: own.headers };
    answers.set(entry.id, await service.call({ ...request, body: { ...proof, ...body } }));
  }
  return answers;
}

test('D05: the ids around the run of somebody else are all alike', async () => {
  const [own, other] = [partyNamed('one'), partyNamed('another-tenant')];
  const foreign = BigInt(other.runs.ids.queued);
  const taken = new Set(parties.flatMap(({ runs }) => Object.values(runs.ids)));
  const answers = new Set<string>();
  for (let step = -500n; step <= 500n; step += 1n) {
    const id = String(foreign + step).padStart(20, '0');
    // All names but the caller's own, those of the other parties included.
    if (taken.has(id) && Object.values(own.runs.ids).includes(id)) continue;
    const answer = await service.call({ method: 'GET', path: `/execution/runs/${id}`, headers: own.headers });
    answers.add(bare(answer));
  }
  expect(answers.size).toBe(1);
  expect([...answers][0]).toMatch(/^404\n/);
});

test('K03: a lease token is worth something whole, for its run, to its worker, until it ends', async () => {
  const own = partyNamed('one');
  const { proof, usedProof, ids } = await furnishRuns(service.call, own);
  const heartbeat = (changed: Partial<Proof>) =>
    service.call({
      method: 'POST',
      path: '/execution/workers/leases/heartbeat',
      headers: own.headers,
      body: { ...proof, ttlSeconds: 86_400, ...changed },
    });
  const { leaseToken, leaseKey } = proof;
  const keyOf = (id: string) => leaseKey.replace(ids.held, id);
  const wrong: readonly Partial<Proof>[] = [
    { leaseToken: leaseToken.slice(0, -1) },
    { leaseToken: `${leaseToken}0` },
    { leaseToken: leaseToken.toUpperCase() },
    { leaseToken: `${leaseToken.slice(0, -1)}${leaseToken.endsWith('0') ? '1' : '0'}` },
    { leaseToken: leaseToken.slice(1) },
    { leaseToken: usedProof.leaseToken },
    { leaseKey: keyOf(ids.queued) },
    { leaseKey: keyOf(ids.parked) },
    { leaseKey: keyOf(ids.ended) },
    { leaseKey: ids.held },
    { leaseKey: leaseKey.toUpperCase() },
    { leaseKey: `${leaseKey}/../x` },
  ];
  for (const changed of wrong) {
    const answer = await heartbeat(changed);
    expect(answer.json(), JSON.stringify(changed)).toMatchObject({ status: 409, code: 'lease_stale' });
  }
  expect((await heartbeat(usedProof)).json()).toMatchObject({ code: 'lease_not_active', how: 'completed' });
  expect((await heartbeat({})).status).toBe(200);
});

// Last, because the owner of a run may end it by this.
test('D12: no answer holds anything of other runs, even where a request gives their names and tokens', async () => {
  const all = parties.map(({ runs }) => wordsOf(runs));
  const names = [...(all[0]?.keys() ?? [])];
  const words = new Map(names.map((name) => [name, all.flatMap((each) => each.get(name) ?? [])]));
  const scopes = new Map([
    ...words,
    ['productId', given.map(([, product]) => product)],
    ['tenantId', given.map(([, , tenant]) => tenant)],
  ]);
  const drafts = [...routes].flatMap(([name, { entry, route }]) =>
    parties.map((_, at) => {
      const place = { set, entry, route, fixed: {}, vocabulary: scopes, answers: noAnswers };
      return validDrafts(place).map((draft) => ({ name, at, draft: consistent(draft) }));
    }),
  );
  let marked = 0;
  const accepted = new Set<string>();
  await forAll('run scopes', 3_000, fc.oneof(...drafts), async ({ name, at, draft }) => {
    const own = parties[at];
    const each = routes.get(name);
    if (own === undefined || each === undefined) throw new Error('there is no such case');
    const answer = await service.call(withHeaders(own, requestOf(each, draft)));
    const verdict = judge(set, each.entry, answer);
    checkOwn(own, answer);
    if (verdict.accepted && answer.status !== 204) {
      accepted.add(each.entry.id);
      checkUntouched(own, draft, answer);
    }
    if (answer.body.includes(own.mark)) marked += 1;
  });
  // Empty answers would prove nothing.
  expect(marked).toBeGreaterThan(cases(3_000) / 60);
  expect(accepted.size).toBeGreaterThan(12);
});

describe('the oracle finds', () => {
  test('content and names of another owner', () => {
    const [own, other] = parties as [Party, Party];
    const body = (value: object) => ({ status: 200, body: JSON.stringify(value) });
    expect(() => checkOwn(own, body({ payload: { mark: other.mark } }))).toThrow('content');
    expect(() => checkOwn(own, body([{ id: other.runs.ids.queued }]))).toThrow('another-tenant');
    expect(() => checkOwn(own, body({ leaseToken: other.runs.proof.leaseToken }))).toThrow('another-tenant');
    expect(() => checkOwn(own, body({ id: own.runs.ids.held, mark: own.mark }))).not.toThrow();
  });
});
