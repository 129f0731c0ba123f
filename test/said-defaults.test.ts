import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { limits } from '../contracts/generated/limits.ts';
import { machine } from '../functions/compose/machine.ts';
import { type RecordStore, StoreError } from '../functions/store/port.ts';
import { childrenAsDone } from './said-defaults-children.ts';
import { embeddingsAsDone } from './said-defaults-embeddings.ts';
import { graphAsDone } from './said-defaults-graph.ts';
import { asLimit, DOCUMENT, room } from './said-defaults-limits.ts';
import { providersAsDone } from './said-defaults-providers.ts';
import { ragAsDone } from './said-defaults-rag.ts';
import { type Call, recordsAsDone } from './said-defaults-records.ts';
import { retrievalsAsDone } from './said-defaults-retrievals.ts';
import { searchesAsDone } from './said-defaults-searches.ts';
import { tracesAsDone, writeUnsafeTrace } from './said-defaults-traces.ts';
import { type RunningService, startService } from './support/service.ts';
import { WriteSignal } from './support/write-signal.ts';

/** The defaults and byte limits in the API document match the behaviour of the service. */

interface Schema {
  readonly default?: unknown;
  readonly 'x-svc-max-bytes'?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { parameters?: readonly { name: string; schema: Schema }[] }>>>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const openApi = JSON.parse(readFileSync('contracts/generated/openapi/svc.json', 'utf8')) as Document;

/** The members of models, and the parameters of routes, by their place. */
const places = new Map<string, Schema>([
  ...Object.entries(openApi.components.schemas).flatMap(([model, { properties = {} }]) =>
    Object.entries(properties).map(([name, schema]) => [`${model}.${name}`, schema] as const),
  ),
  ...Object.entries(openApi.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { parameters = [] }]) =>
      parameters.map(({ name, schema }) => [`${method.toUpperCase()} ${path} ${name}`, schema] as const),
    ),
  ),
]);
const saying = (keyword: keyof Schema) =>
  [...places].filter(([, schema]) => schema[keyword] !== undefined).map(([place]) => place);

const collectionsAsDone = {
  ...childrenAsDone,
  ...recordsAsDone,
  ...searchesAsDone,
  ...tracesAsDone,
  ...embeddingsAsDone,
  ...graphAsDone,
  ...retrievalsAsDone,
  ...providersAsDone,
  ...ragAsDone,
};

const writes = new WriteSignal();

/** Delays the answer of a running job until the next write, so that the caller does not ask again in vain. */
async function patiently(ask: () => ReturnType<Call>): ReturnType<Call> {
  const { next } = writes;
  const answer = await ask();
  const { status } = (answer.body ?? {}) as { readonly status?: unknown };
  if (status === 'queued' || status === 'waiting' || status === 'running') await next;
  return answer;
}

/** The waits that lease calls requested. */
let waits: number[] = [];
let service: RunningService;
let store: RecordStore | undefined;
beforeAll(async () => {
  const after: typeof machine.timers.after = (delayMs, callback) => {
    // A call that has read before it waits has spent a part of its last second.
    const askedMs = Math.ceil(delayMs / 1000) * 1000;
    const isWait = delayMs > 0 && askedMs <= limits.outboxWaitSecondsMax * 1000 && askedMs - delayMs < 500;
    if (isWait) waits.push(askedMs);
    return machine.timers.after(isWait ? 1 : delayMs, callback);
  };
  const watchStore = (opened: RecordStore) => {
    store = opened;
    return writes.watch(opened);
  };
  service = await startService({ world: { ...machine, timers: { after } }, watchStore });
  // Any call opens the store.
  await service.call({ method: 'GET', path: '/traces' });
  if (store === undefined) throw new Error('no store');
  await writeUnsafeTrace(store);
});
afterAll(() => service.close());

interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
}

/** A new tenant. */
class Tenant {
  readonly #id = `t-${randomUUID()}`;
  readonly #base = `/canonical/tenants/${this.#id}`;

  async call(method: string, path: string, body?: object) {
    const answer = await service.call({ method, path: `${this.#base}${path}`, body });
    return { status: answer.status, body: answer.body === '' ? null : answer.json() };
  }

  post(path: string, body: object) {
    return this.call('POST', path, body);
  }

  async execution(method: string, path: string, body?: object) {
    const answer = await service.call({ method, path: `/execution${path}`, body });
    return { status: answer.status, body: answer.body === '' ? null : answer.json() };
  }

  /** A run of the known handler, leased to a new worker. */
  async heldRun(request: object = {}) {
    const run = { handlerId: 'invoice.render', payload: { of: this.#id }, ...request };
    const { id: runId } = (await this.execution('POST', '/runs', run)).body as { id: string };
    const wish = { workerId: this.#id, handlerIds: ['invoice.render'], runId };
    const { leaseKey, leaseToken } = (await this.execution('POST', '/workers/leases', wish)).body as Lease;
    const lease = { leaseKey, leaseToken, workerId: this.#id };
    const work = (path: string, more: object) =>
      this.execution('POST', `/workers/leases/${path}`, { ...lease, ...more });
    return { runId, work };
  }

  async commit(request: object) {
    return this.post('/transactions', { idempotencyKey: 'k', ...request });
  }

  written(id: string, indexes = {}) {
    const document = { tenantId: this.#id, documentType: 'claim', id, schemaVersion: '1', data: {}, indexes };
    return { operation: 'upsert', document };
  }

  /** Two documents, of which one is deleted again. */
  async withDeleted() {
    await this.commit({ mutations: [this.written('kept'), this.written('gone')] });
    const gone = { operation: 'delete', documentType: 'claim', id: 'gone' };
    expect((await this.commit({ idempotencyKey: 'l', mutations: [gone] })).status).toBe(200);
  }

  async idsOf(query: object) {
    const { body } = await this.post('/documents/query', { documentType: 'claim', ...query });
    return (body as { items: readonly { id: string }[] }).items.map(({ id }) => id);
  }
}

/** A value that is not the default, and a request in a new tenant with these added members that returns the observed behaviour. */
interface Behaviour {
  readonly other: unknown;
  readonly of: (tenant: Tenant, added: object) => Promise<unknown>;
}

/** A member of a run's retry policy, as the run shows it. */
function retryMember(other: number): Behaviour {
  return {
    other,
    async of(tenant, added) {
      const run = { handlerId: 'invoice.render', retryPolicy: { maxAttempts: 2, ...added } };
      const { body } = await tenant.execution('POST', '/runs', run);
      return (body as { retryPolicy: unknown }).retryPolicy;
    },
  };
}

/** A member of a worker's event, as the history shows it. */
function eventMember(member: 'type' | 'severity', other: string): Behaviour {
  return {
    other,
    async of(tenant, added) {
      const { runId, work } = await tenant.heldRun();
      expect((await work('events', { message: 'said', ...added })).status).toBe(204);
      const { body } = await tenant.execution('GET', `/runs/${runId}/history`);
      const events = body as readonly { message: string | null; type: string; severity: string }[];
      return events.find(({ message }) => message === 'said')?.[member];
    },
  };
}

const asDone: Readonly<Record<string, Behaviour>> = {
  [`GET ${DOCUMENT} includeDeleted`]: {
    other: true,
    async of(tenant, added) {
      await tenant.withDeleted();
      const query = Object.entries(added).map(([name, value]) => `?${name}=${String(value)}`);
      return (await tenant.call('GET', `/documents/claim/gone${query.join('')}`)).status;
    },
  },
  'CanonicalDocumentReadRequest.includeDeleted': {
    other: true,
    async of(tenant, added) {
      await tenant.withDeleted();
      return (await tenant.post('/documents/read', { documentType: 'claim', id: 'gone', ...added })).status;
    },
  },
  'CanonicalDocumentQuery.includeDeleted': {
    other: true,
    async of(tenant, added) {
      await tenant.withDeleted();
      return tenant.idsOf(added);
    },
  },
  'CanonicalDocumentQuery.orderDirection': {
    other: 'descending',
    async of(tenant, added) {
      await tenant.commit({
        mutations: [tenant.written('b', { at: '1' }), tenant.written('a', { at: '2' })],
      });
      const ids = await tenant.idsOf({ orderByIndex: 'at', ...added });
      expect(ids).toHaveLength(2);
      return ids;
    },
  },
  'CanonicalMutation.operation': {
    other: 'delete',
    async of(tenant, added) {
      const { document } = tenant.written('a');
      const { status } = await tenant.commit({ mutations: [{ document, ...added }] });
      return [status, await tenant.idsOf({})];
    },
  },
  'CanonicalFenceMutation.operation': {
    other: 'release',
    async of(tenant, added) {
      const fence = { name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'a', ...added };
      return (await tenant.commit({ mutations: [tenant.written('a')], fences: [fence] })).status;
    },
  },
  'CanonicalOutboxLeaseRequest.waitSeconds': {
    other: 7,
    async of(tenant, added) {
      waits = [];
      const { status } = await tenant.post('/outbox/leases', { consumerId: 'c', ...added });
      return [status, waits];
    },
  },
  'ExecutionRetryPolicyInput.initialDelaySeconds': retryMember(7),
  'ExecutionRetryPolicyInput.maxDelaySeconds': retryMember(61),
  'ExecutionRetryPolicyInput.backoffMultiplier': retryMember(3),
  'ExecutionRunResult.status': {
    other: 'failed',
    async of(tenant, added) {
      const { work } = await tenant.heldRun();
      return ((await work('complete', { result: added })).body as { status: string }).status;
    },
  },
  'ExecutionArtifactWrite.kind': {
    other: 'text',
    async of(tenant, added) {
      const { work } = await tenant.heldRun();
      const artifact = { name: 'a', text: 'x', metadata: {}, ...added };
      return ((await work('artifacts', { artifact })).body as { kind: string }).kind;
    },
  },
  'ExecutionExternalWorkerEventRequest.type': eventMember('type', 'step.started'),
  'ExecutionExternalWorkerEventRequest.severity': eventMember('severity', 'warning'),
  'ExecutionExternalWorkerLeaseRequest.waitSeconds': {
    other: 7,
    async of(tenant, added) {
      waits = [];
      const wish = { workerId: 'w', handlerIds: ['never.started'], ...added };
      const { status } = await tenant.execution('POST', '/workers/leases', wish);
      return [status, waits.includes(7_000)];
    },
  },
  'ExecutionRunRequest.waitSeconds': {
    other: 7,
    async of(tenant, added) {
      waits = [];
      const { status } = await tenant.execution('POST', '/runs', { handlerId: 'invoice.render', ...added });
      return [status, waits.includes(7_000)];
    },
  },
  'GET /readiness status': {
    other: true,
    async of(_, added) {
      if (store === undefined) throw new Error('no store');
      const ping = vi.spyOn(store, 'ping').mockRejectedValue(new StoreError('unavailable', 'away'));
      const query = Object.entries(added).map(([name, value]) => `?${name}=${String(value)}`);
      const { status } = await service.call({ method: 'GET', path: `/readiness${query.join('')}` });
      ping.mockRestore();
      return status;
    },
  },
  'GET /execution/runs includeResult': {
    other: true,
    async of(tenant, added) {
      const { runId, work } = await tenant.heldRun();
      await work('complete', { result: { result: 1 } });
      const query = Object.entries(added).map(([name, value]) => `&${name}=${String(value)}`);
      const { body } = await tenant.execution('GET', `/runs?correlationId=${runId}${query.join('')}`);
      return (body as readonly { result: unknown }[]).map(({ result }) => result);
    },
  },
  'GET /execution/runs/{runId} includeResult': {
    other: false,
    async of(tenant, added) {
      const { runId, work } = await tenant.heldRun();
      await work('complete', { result: { result: 1 } });
      const query = Object.entries(added).map(([name, value]) => `?${name}=${String(value)}`);
      const { body } = await tenant.execution('GET', `/runs/${runId}${query.join('')}`);
      return (body as { result: unknown }).result;
    },
  },
  'GET /execution/runs/{runId} waitSeconds': {
    other: 7,
    async of(tenant, added) {
      const { runId } = await tenant.heldRun();
      waits = [];
      const query = Object.entries(added).map(([name, value]) => `?${name}=${String(value)}`);
      const { status } = await tenant.execution('GET', `/runs/${runId}${query.join('')}`);
      return [status, waits.includes(7_000)];
    },
  },
  'ExecutionMaintenancePruneRequest.dryRun': {
    other: false,
    async of(tenant, added) {
      // With either value, no runs of other tests may be removed.
      const request = { retainTerminalRuns: 10_000_000, ...added };
      const { body } = await tenant.execution('POST', '/runtime/maintenance/prune', request);
      return (body as { dryRun: boolean }).dryRun;
    },
  },
  'ExecutionMaintenanceDispatchReconcileRequest.dryRun': {
    other: true,
    async of(tenant, added) {
      const { body } = await tenant.execution('POST', '/runtime/maintenance/reconcile', added);
      return (body as { dryRun: boolean }).dryRun;
    },
  },
  'CanonicalOutboxReplayRequest.resetDeliveryCount': {
    other: true,
    async of(tenant, added) {
      const event = { id: 'e', topic: 't', key: 'k', payload: {}, maxDeliveryAttempts: 1 };
      await tenant.commit({ outbox: [event] });
      const { body } = await tenant.post('/outbox/leases', { consumerId: 'c' });
      const leaseToken = (body as readonly { leaseToken: string }[])[0]?.leaseToken;
      await tenant.post('/outbox/e/nack', { leaseToken });
      expect((await tenant.post('/outbox/e/replay', added)).status).toBe(204);
      return (await tenant.post('/outbox/query', {})).body;
    },
  },
};

describe('the documented default of an absent member', () => {
  test('is tested for every documented place, and for no other', () => {
    expect(saying('default').toSorted()).toEqual(
      [...Object.keys(asLimit), ...Object.keys(asDone), ...Object.keys(collectionsAsDone)].toSorted(),
    );
  });

  test.each(Object.entries(asLimit))('equals the limit: %s', (place, limit) => {
    expect(places.get(place)?.default).toBe(limit);
  });

  test.each(Object.entries(asDone))('is the observed behaviour: %s', async (place, { other, of }) => {
    const name = place.split(/[. ]/).at(-1) ?? '';
    const said = places.get(place)?.default;
    const [leftOut, given, changed] = [
      await of(new Tenant(), {}),
      await of(new Tenant(), { [name]: said }),
      await of(new Tenant(), { [name]: other }),
    ].map(plain);
    expect(given).toEqual(leftOut);
    expect(changed, 'it makes no difference').not.toEqual(leftOut);
  });

  test.each(Object.entries(collectionsAsDone))(
    'is the observed behaviour: %s',
    async (place, { other, of }) => {
      const call: Call = (method, path, body) =>
        patiently(async () => {
          const answer = await service.call({ method, path, body });
          return { status: answer.status, body: answer.body === '' ? null : answer.json() };
        });
      const name = place.split(/[. ]/).at(-1) ?? '';
      const leftOut = await of(call, {});
      expect(await of(call, { [name]: places.get(place)?.default })).toEqual(leftOut);
      expect(await of(call, { [name]: other }), 'it makes no difference').not.toEqual(leftOut);
    },
  );
});

describe('the documented byte limit', () => {
  test.each(saying('x-svc-max-bytes'))('equals the limit: %s', (place) => {
    expect(places.get(place)?.['x-svc-max-bytes']).toBe(room[place]);
  });

  test('is documented in every place with a limit', () => {
    expect(Object.keys(room).toSorted()).toEqual(saying('x-svc-max-bytes').toSorted());
  });
});

/** The value without members that differ between tenants. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (name, each: unknown) =>
    /^(tenantId|.*Utc|etag|leaseToken|.*Id)$/.test(name) ? undefined : each,
  );
  return JSON.parse(text) as unknown;
}
