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
let waiting = 0;

const after: typeof machine.timers.after = (delayMs, callback) => {
  if (delayMs <= WAIT_SECONDS * 1_000 && delayMs > WAIT_SECONDS * 1_000 - 1_000) {
    waiting += 1;
    waits.resolve(true);
    waits = Promise.withResolvers();
  }
  return machine.timers.after(delayMs, callback);
};

const PARTIES = ['victim', 'neighbour', 'frontend'];
const parties = new Map<string, Party>();

beforeAll(async () => {
  const tenants = (name: string) => (name === 'frontend' ? ['victim', 'neighbour'] : [name]);
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
        return [principalOf(name), { product: 'shop', tenants: tenants(name), handlers, worker, operations }];
      }),
      serviceAudience,
    ),
    { ...machine, timers: { after } },
  );
  for (const name of PARTIES) {
    const token = await service.issuer.mint({ email: principalOf(name), audience: serviceAudience });
    parties.set(name, { name, tenantId: name, headers: { Authorization: `Bearer ${token}` } });
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

async function start(by: Party, tenantId = by.tenantId): Promise<string> {
  const scope = { productId: 'shop', tenantId };
  const { id = '' } = await post(by, '/execution/runs', { handlerId: HANDLER, scope, payload: {} });
  return id;
}

/** The call of each operation that waits, by its id, for a party and a tenant of it. */
const calls: Readonly<Record<string, (by: Party, tenantId?: string) => Promise<Waiting>>> = {
  async getExecutionRun(by, tenantId) {
    const id = await start(by, tenantId);
    const path = `/execution/runs/${id}`;
    return {
      request: { method: 'GET', path: `${path}?waitSeconds=${WAIT_SECONDS}`, headers: by.headers },
      bring: async () => void (await done({ method: 'DELETE', path, headers: by.headers })),
    };
  },
  async leaseExternalExecutionRun(by) {
    const body = { workerId: `worker-${by.name}`, handlerIds: [HANDLER], waitSeconds: WAIT_SECONDS };
    return {
      request: { method: 'POST', path: '/execution/workers/leases', headers: by.headers, body },
      bring: async () => void (await start(by)),
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

const operations = waitingOperations();

test('each operation of the catalogue that waits is tried here', () => {
  expect(operations.toSorted()).toEqual(Object.keys(calls).toSorted());
});

test.each(operations)('%s of a tenant waits while a neighbour holds all places that it may', async (id) => {
  const drained = new AbortController();
  const before = waiting;
  const answers = await crowd(await calls[id]!(party('neighbour')), drained.signal);
  expect(waiting).toBeGreaterThan(before);
  const own = await calls[id]!(party('victim'));
  const { answer, isWaiting } = await sent(own.request);
  expect(isWaiting).toBe(true);
  await own.bring();
  const { status, body } = await answer;
  expect([status, body.length > 2], body).toEqual([200, true]);
  drained.abort();
  await Promise.all(answers);
  // The neighbour has its places again.
  const again = await calls[id]!(party('neighbour'));
  const { isWaiting: waitsAgain, answer: last } = await sent(again.request, AbortSignal.any([]));
  expect(waitsAgain).toBe(true);
  await again.bring();
  expect((await last).status).toBe(200);
});

test.each(['getExecutionRun', 'leaseCanonicalOutbox'])(
  '%s for one tenant of a caller leaves places to its other tenants',
  async (id) => {
    const drained = new AbortController();
    const caller = party('frontend');
    const answers = await crowd(await calls[id]!(caller, 'neighbour'), drained.signal);
    const own = await calls[id]!(caller, 'victim');
    const { answer, isWaiting } = await sent(own.request);
    expect(isWaiting).toBe(true);
    await own.bring();
    expect((await answer).status).toBe(200);
    drained.abort();
    await Promise.all(answers);
  },
);
