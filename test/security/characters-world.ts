import { randomUUID } from 'node:crypto';
import type { RecordStore } from '../../functions/store/port.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { StoreContent, StoreCount } from './characters-store.ts';
import { type ExecutionGrantOf, executionGrantSettings, executionOperations } from './matrix-execution.ts';
import { recordGrantSettings } from './matrix-records.ts';
import { furnishObjects } from './object-belongings.ts';
import type { Call, Headers, Party } from './party.ts';
import { furnishRecords, growRecords, type Records } from './record-belongings.ts';
import { furnishRuns, HANDLER, type Runs } from './runs.ts';
import { furnishTraces } from './trace-belongings.ts';

/** Two tenants in one deployment, and the callers who try each operation on the first of them. */

type FurnishedService = Pick<IssuedService, 'call' | 'ended'>;

/** The things of a party that requests may name. */
export interface Belongings {
  readonly outbox: Outbox;
  readonly runs: Runs;
  readonly records: Records;
  /** A finished run of a capability. */
  readonly providerJobId: string;
}

interface Outbox {
  /** A leased outbox event, and its token. */
  readonly event: { readonly eventId: string; readonly leaseToken: string };
  readonly deadLetter: string;
}

export interface CharactersWorld {
  readonly service: IssuedService;
  readonly count: StoreCount;
  readonly content: StoreContent;
  readonly victim: Party;
  readonly neighbour: Party;
  /** The headers of a verified principal that no policy names. */
  readonly withoutRights: Headers;
  /** May maintain the runtime. */
  readonly operator: Headers;
  close(): Promise<void>;
}

/** Access operations of a tenant; the others are of the operator, for all tenants. */
const canonicalOperations = ['read', 'write', 'dispatch', 'export'];
const product = 'shop';
const recordHandlers = [
  'svc.collections.create',
  'svc.collections.delete',
  'svc.records.batch-upsert',
  'svc.records.collection-import',
];

export interface CharactersOptions {
  /** Puts a bug between the service and the counted store. */
  readonly plant?: (store: RecordStore) => RecordStore;
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startCharacters(options: CharactersOptions = {}): Promise<CharactersWorld> {
  const { plant = (store: RecordStore) => store, settings = {} } = options;
  const names = ['victim', 'neighbour'].map((name) => ({ name, tenantId: `${name}-${randomUUID()}` }));
  const granted = names.map(({ name, tenantId }): [string, ExecutionGrantOf] => [
    principalOf(name),
    {
      product,
      tenants: [tenantId],
      handlers: [HANDLER, ...recordHandlers],
      worker: `worker-${name}`,
      operations: executionOperations.filter((operation) => operation !== 'maintenance'),
    },
  ]);
  const operator: ExecutionGrantOf = {
    product,
    tenants: [],
    handlers: [],
    worker: 'worker-operator',
    operations: ['maintenance'],
  };
  granted.push([principalOf('operator'), operator]);
  const grants = names.map(({ name, tenantId }) => ({
    principal: principalOf(name),
    tenants: [tenantId],
    operations: canonicalOperations,
  }));
  const count = new StoreCount();
  let opened: RecordStore | undefined;
  const service = await startIssuedService(
    grants,
    {
      ...executionGrantSettings(granted, serviceAudience),
      ...recordGrantSettings(
        names.map(({ name, tenantId }) => [
          principalOf(name),
          { space: tenantId, operations: ['read', 'write', 'delete', 'maintain'] },
        ]),
        serviceAudience,
      ),
      ...recordGrantSettings(
        names.map(({ name, tenantId }) => [
          principalOf(name),
          { space: tenantId, operations: ['read', 'run', 'qualify'] },
        ]),
        serviceAudience,
        'Server:ProviderAccess',
      ),
      ...settings,
    },
    undefined,
    (store) => {
      opened = plant(count.watch(store));
      return opened;
    },
  );
  const party = async ({ name, tenantId }: { name: string; tenantId: string }): Promise<Party> => ({
    tenantId,
    productId: product,
    workerId: `worker-${name}`,
    mark: `mark-${name}-${randomUUID()}`,
    headers: await headersOf(service, name),
  });
  const [victim, neighbour] = (await Promise.all(names.map(party))) as [Party, Party];
  await furnishParty(service, victim);
  await furnishParty(service, neighbour);
  if (opened === undefined) throw new Error('no call has opened the store');
  for (const each of [victim, neighbour]) {
    await furnishTraces(opened, each);
    await furnishObjects(service.call, each);
  }
  const content = new StoreContent(service.folder);
  return {
    service,
    count,
    content,
    victim,
    neighbour,
    withoutRights: await headersOf(service, 'unknown'),
    operator: await headersOf(service, 'operator'),
    async close() {
      content.close();
      await service.close();
    },
  };
}

const principalOf = (name: string) => `${name}@project.example`;

async function headersOf({ issuer }: IssuedService, name: string): Promise<Headers> {
  const token = await issuer.mint({ email: principalOf(name), audience: serviceAudience });
  return { Authorization: `Bearer ${token}` };
}

const document = (party: Party, id: string) => ({
  operation: 'upsert',
  document: {
    tenantId: party.tenantId,
    documentType: 'order',
    id,
    schemaVersion: '1',
    data: { mark: party.mark },
    indexes: { status: 'open', dueOn: '2026-01-02' },
  },
});

const event = ({ mark }: Party, topic: string) => ({ topic, key: topic, payload: { mark } });

function poster(call: Call, { headers, tenantId }: Party) {
  return async <T>(path: string, body: object): Promise<T> => {
    const target = path.startsWith('/') ? path : `/canonical/tenants/${tenantId}/${path}`;
    const answer = await call({ method: 'POST', path: target, headers, body });
    if (answer.status >= 300) throw new Error(`POST ${target}: ${answer.status} ${answer.body}`);
    return (answer.body === '' ? null : answer.json()) as T;
  };
}

interface Lease {
  readonly event: { readonly id: string };
  readonly leaseToken: string;
}

/** The belongings that operations of a group may use up; those of a group that is not here may use up everything. */
const usedUpBy: Readonly<Record<string, readonly (keyof Belongings)[]>> = {
  artifacts: [],
  canonical: ['outbox'],
  collections: ['records'],
  embeddings: [],
  execution: ['runs'],
  graph: ['records'],
  objects: [],
  providers: ['providerJobId'],
  rag: [],
  records: ['records'],
  retrieval: [],
  traces: [],
};

/**
 * Gives the party a document, a fence, outbox events in each state, runs in each state, records and finished jobs. It keeps those
 * that it has `already`, unless operations of the group used them up.
 */
export async function furnishParty(
  service: FurnishedService,
  party: Party,
  already?: { readonly belongings: Belongings; readonly group: string },
): Promise<Belongings> {
  const part = <P extends keyof Belongings>(name: P, make: () => Promise<Belongings[P]>) =>
    already !== undefined && usedUpBy[already.group]?.includes(name) === false
      ? already.belongings[name]
      : make();
  const { call } = service;
  return {
    outbox: await part('outbox', () => furnishOutbox(call, party)),
    runs: await part('runs', () => furnishRuns(call, party)),
    records: await part('records', () => furnishRecords(call, party)),
    providerJobId: await part('providerJobId', () => furnishProviderJob(service, party)),
  };
}

async function furnishOutbox(call: Call, party: Party): Promise<Outbox> {
  const post = poster(call, party);
  const owner = { ownerDocumentType: 'order', ownerDocumentId: 'order-1001' };
  await post('transactions', {
    idempotencyKey: randomUUID(),
    mutations: [document(party, 'order-1001')],
    fences: [{ operation: 'claim', name: 'number', value: party.mark, ...owner }],
    outbox: [{ ...event(party, 'dead'), maxDeliveryAttempts: 1 }],
  });
  const lease = async (): Promise<Lease> => {
    // Earlier events may be ready too: lease until a new one comes.
    const [leased] = await post<readonly Lease[]>('outbox/leases', {
      consumerId: 'dispatcher-1',
      maxItems: 1,
      leaseSeconds: 86_400,
    });
    if (leased === undefined) throw new Error('no outbox event was ready');
    return leased;
  };
  const dead = await lease();
  await post(`outbox/${dead.event.id}/nack`, { leaseToken: dead.leaseToken, retryAfterSeconds: 86_400 });
  await post('transactions', { idempotencyKey: randomUUID(), outbox: [event(party, 'held')] });
  const held = await lease();
  return { event: { eventId: held.event.id, leaseToken: held.leaseToken }, deadLetter: dead.event.id };
}

/** Runs a capability of the service itself, with the mark of the party in its answer. */
async function furnishProviderJob(
  { call, ended }: FurnishedService,
  { headers, mark, productId, tenantId }: Party,
): Promise<string> {
  const body = { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: mark }] } };
  const path = `/providers/local-deterministic-ai/jobs?${new URLSearchParams({ productId, tenantId }).toString()}`;
  const started = await call({ method: 'POST', path, headers, body });
  if (started.status !== 202) throw new Error(`the run was not admitted: ${started.body}`);
  const { id } = started.json<{ id: string }>();
  await ended({ method: 'GET', path: `/provider-jobs/${id}`, headers });
  return id;
}

/** Gives the party this many documents, delivered events and runs more, a third of the runs refused or cancelled. */
export async function grow(call: Call, party: Party, count: number): Promise<void> {
  const post = poster(call, party);
  for (let made = 0; made < count; made += 50) {
    const size = Math.min(50, count - made);
    const ids = Array.from({ length: size }, () => `order-${randomUUID()}`);
    await post('transactions', {
      idempotencyKey: randomUUID(),
      mutations: ids.map((id) => document(party, id)),
      outbox: ids.map((id) => event(party, id)),
    });
  }
  const scope = { productId: party.productId, tenantId: party.tenantId };
  await growRecords(call, party, count);
  for (let made = 0; made < count; made += 1) {
    const body = { handlerId: HANDLER, scope, tags: { mark: party.mark }, payload: { mark: party.mark } };
    const { id } = await post<{ id: string }>('/execution/runs', body);
    if (made % 3 === 0)
      await call({ method: 'DELETE', path: `/execution/runs/${id}`, headers: party.headers });
  }
}
