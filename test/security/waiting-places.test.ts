import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { executionGrantSettings } from './matrix-execution.ts';
import { HANDLER } from './runs.ts';

/** A neighbour whose calls wait in each place that it may have: a call of another tenant still waits, and gets what it waits for. */

/** As many as the process had for all. */
const CALLS = 1_000;
/** No other timer of the service has this delay: it shows that a call waits. */
const WAIT_SECONDS = 19.75;

interface Party {
  readonly name: string;
  readonly tenantId: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly request: InjectedRequest;
  /** Makes what the call waits for. */
  readonly bring: () => Promise<void>;
}

let service: IssuedService;
/** Settles with `true` when the next call begins to wait. */
let waits = Promise.withResolvers<true>();
const waiting = new Set<object>();

const after: typeof machine.timers.after = (delayMs, callback) => {
  const cancel = machine.timers.after(delayMs, callback);
  if (delayMs > WAIT_SECONDS * 1_000 || delayMs <= WAIT_SECONDS * 1_000 - 1_000) return cancel;
  waiting.add(cancel);
  waits.resolve(true);
  waits = Promise.withResolvers();
  return () => {
    waiting.delete(cancel);
    cancel();
  };
};

/** Identities of the neighbour, each with a worker of its own, for one product or the other. */
const CREW = Array.from({ length: 50 }, (_, n) => `crew-${n}`);
const PARTIES = ['victim', 'neighbour', 'frontend', ...CREW];
const parties = new Map<string, Party>();

const productOf = (name: string) =>
  name.startsWith('crew-') && Number(name.slice(5)) % 2 === 1 ? 'bank' : 'shop';

beforeAll(async () => {
  const tenants = (name: string) => {
    if (name === 'frontend') return ['victim', 'neighbour'];
    return [CREW.includes(name) ? 'neighbour' : name];
  };
  const principalOf = (name: string) => `${name}@project.example`;
  service = await startIssuedService(
    PARTIES.map((name) => {
      return {
        principal: principalOf(name),
        tenants: tenants(name),
        operations: ['read', 'write', 'dispatch'],
      };
    }),
    executionGrantSettings(
      PARTIES.map((name) => {
        const operations = ['start_run', 'read_run', 'cancel_run', 'worker'];
        const handlers = [HANDLER];
        const worker = `worker-${name}`;
        const product = productOf(name);
        return [principalOf(name), { product, tenants: tenants(name), handlers, worker, operations }];
      }),
      serviceAudience,
    ),
    { ...machine, timers: { after } },
  );
  for (const name of PARTIES) {
    const token = await service.issuer.mint({ email: principalOf(name), audience: serviceAudience });
    const tenantId = CREW.includes(name) ? 'neighbour' : name;
    parties.set(name, { name, tenantId, headers: { Authorization: `Bearer ${token}` } });
  }
});
afterAll(() => service.close());

function party(name: string): Party {
  const found = parties.get(name);
  if (found === undefined) throw new Error(`there is no party ${name}`);
  return found;
}

async function post(by: Party, path: string, body: object): Promise<{ readonly id?: string }> {
  return (await done({ method: 'POST', path, headers: by.headers, body })).json();
}

async function done(request: InjectedRequest): Promise<InjectedResponse> {
  const answer = await service.call(request);
  if (answer.status >= 300)
    throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.body}`);
  return answer;
}

async function start(by: Party, tenantId = by.tenantId, given: object = {}): Promise<string> {
  const scope = { productId: productOf(by.name), tenantId };
  const { id = '' } = await post(by, '/execution/runs', { handlerId: HANDLER, scope, payload: {}, ...given });
  return id;
}

const NAMED_RUN = 'leaseExternalExecutionRun of a named run';

/** Calls of each operation that waits, by its id first, for a party and a tenant of it. */
const calls: Readonly<Record<string, (by: Party, tenantId?: string) => Promise<Waiting>>> = {
  async getExecutionRun(by, tenantId) {
    const id = await start(by, tenantId);
    const path = `/execution/runs/${id}`;
    return {
      request: { method: 'GET', path: `${path}?waitSeconds=${WAIT_SECONDS}`, headers: by.headers },
      bring: async () => void (await done({ method: 'DELETE', path, headers: by.headers })),
    };
  },
  async startExecutionRun(by, tenantId) {
    const given = { idempotencyKey: randomUUID(), waitSeconds: WAIT_SECONDS };
    const scope = { productId: productOf(by.name), tenantId: tenantId ?? by.tenantId };
    // The calls of a crowd repeat one start: further runs would meet the ceiling of active ones.
    const body = { handlerId: HANDLER, scope, payload: {}, ...given };
    const id = await start(by, tenantId, { ...given, waitSeconds: 0 });
    return {
      request: { method: 'POST', path: '/execution/runs', headers: by.headers, body },
      bring: async () =>
        void (await done({ method: 'DELETE', path: `/execution/runs/${id}`, headers: by.headers })),
    };
  },
  async leaseExternalExecutionRun(by) {
    const body = { workerId: `worker-${by.name}`, handlerIds: [HANDLER], waitSeconds: WAIT_SECONDS };
    return {
      request: { method: 'POST', path: '/execution/workers/leases', headers: by.headers, body },
      bring: async () => void (await start(by)),
    };
  },
  async [NAMED_RUN](by, tenantId) {
    const runId = await start(by, tenantId, { scheduledAtUtc: '2030-01-01T00:00:00Z' });
    const worker = { workerId: `worker-${by.name}`, handlerIds: [HANDLER] };
    const body = { ...worker, runId, waitSeconds: WAIT_SECONDS };
    const path = `/execution/runs/${runId}`;
    return {
      request: { method: 'POST', path: '/execution/workers/leases', headers: by.headers, body },
      bring: async () => void (await done({ method: 'DELETE', path, headers: by.headers })),
    };
  },
  async leaseCanonicalOutbox(by, tenantId = by.tenantId) {
    const tenant = `/canonical/tenants/${tenantId}`;
    const body = { consumerId: 'consumer', waitSeconds: WAIT_SECONDS };
    const outbox = [{ topic: 't', key: 'k', payload: {} }];
    const commit = { idempotencyKey: randomUUID(), outbox };
    return {
      request: { method: 'POST', path: `${tenant}/outbox/leases`, headers: by.headers, body },
      bring: async () => void (await post(by, `${tenant}/transactions`, commit)),
    };
  },
};

/** Whether the call waits, and its answer. */
async function sent(request: InjectedRequest, draining?: AbortSignal) {
  const begins = waits.promise;
  const answer = service.call(draining === undefined ? request : { ...request, draining });
  return { answer, isWaiting: await Promise.race([begins, answer.then(() => false)]) };
}

/** Calls of the same kind one after another, until the end of `draining`. */
async function crowd({ request }: Waiting, draining: AbortSignal): Promise<Promise<InjectedResponse>[]> {
  const answers: Promise<InjectedResponse>[] = [];
  for (let n = 0; n < CALLS; n += 1) answers.push((await sent(request, draining)).answer);
  return answers;
}

const catalog = JSON.parse(readFileSync('contracts/public-sdk-surface.json', 'utf8')) as {
  readonly operations: readonly {
    readonly id: string;
    readonly group: string;
    readonly parameters: readonly { readonly name: string }[];
    readonly request: { readonly schema: string } | null;
  }[];
};

function waitingOperations(): readonly string[] {
  return catalog.operations.flatMap(({ id, group, parameters, request }) => {
    const file = JSON.parse(readFileSync(`contracts/schemas/${group}.schema.json`, 'utf8')) as {
      readonly $defs: Readonly<Record<string, { readonly properties?: object }>>;
    };
    const members = Object.keys(file.$defs[request?.schema ?? '']?.properties ?? {});
    const names = [...members, ...parameters.map(({ name }) => name)];
    return names.includes('waitSeconds') ? [id] : [];
  });
}

const kinds = Object.keys(calls);
/** The calls that wait in the name of one tenant, as a tenant with a single identity has them. */
const PLACES_OF_TENANT: Readonly<Record<string, number>> = {
  getExecutionRun: 64,
  startExecutionRun: 64,
  leaseExternalExecutionRun: 64,
  [NAMED_RUN]: 64,
  leaseCanonicalOutbox: 32,
};

/** A named run that has ended is answered without a lease. */
const STATUSES: Readonly<Record<string, number>> = { [NAMED_RUN]: 204, startExecutionRun: 202 };
const statusOf = (kind: string) => STATUSES[kind] ?? 200;

test('each operation of the catalogue that waits is tried here', () => {
  const tried = new Set(kinds.map((kind) => kind.replace(/ .*/, '')));
  expect(tried).toEqual(new Set(waitingOperations()));
  expect(Object.keys(PLACES_OF_TENANT).toSorted()).toEqual(kinds.toSorted());
});

test.each(kinds)('%s of a tenant waits while a neighbour holds all places that it may', async (id) => {
  const drained = new AbortController();
  const answers = await crowd(await calls[id]!(party('neighbour')), drained.signal);
  expect(waiting.size).toBe(PLACES_OF_TENANT[id]);
  const own = await calls[id]!(party('victim'));
  const { answer, isWaiting } = await sent(own.request);
  expect(isWaiting).toBe(true);
  await own.bring();
  const { status, body } = await answer;
  expect([status, body.length > 2], body).toEqual([statusOf(id), id !== NAMED_RUN]);
  drained.abort();
  await Promise.all(answers);
  // The neighbour has its places again.
  const again = await calls[id]!(party('neighbour'));
  const { isWaiting: waitsAgain, answer: last } = await sent(again.request, AbortSignal.any([]));
  expect(waitsAgain).toBe(true);
  await again.bring();
  expect((await last).status).toBe(statusOf(id));
});

test.each(kinds)('%s: fifty identities of a tenant have the places of one tenant together', async (kind) => {
  const drained = new AbortController();
  const answers: Promise<InjectedResponse>[] = [];
  for (const name of CREW) {
    const { request } = await calls[kind]!(party(name));
    for (let n = 0; n < CALLS / CREW.length; n += 1)
      answers.push((await sent(request, drained.signal)).answer);
  }
  expect(waiting.size).toBe(PLACES_OF_TENANT[kind]);
  const own = await calls[kind]!(party('victim'));
  const { answer, isWaiting } = await sent(own.request, drained.signal);
  expect(isWaiting).toBe(true);
  drained.abort();
  await Promise.all([answer, ...answers]);
});

test.each(['getExecutionRun', 'startExecutionRun', 'leaseCanonicalOutbox', NAMED_RUN])(
  '%s for one tenant of a caller leaves places to its other tenants',
  async (id) => {
    const drained = new AbortController();
    const caller = party('frontend');
    const answers = await crowd(await calls[id]!(caller, 'neighbour'), drained.signal);
    const own = await calls[id]!(caller, 'victim');
    const { answer, isWaiting } = await sent(own.request);
    expect(isWaiting).toBe(true);
    await own.bring();
    expect((await answer).status).toBe(statusOf(id));
    drained.abort();
    await Promise.all(answers);
  },
);
