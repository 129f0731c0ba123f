import { type RunningService, startService } from '../support/service.ts';
import type { FileRequest } from './http-file.ts';

/** What the requests of `docs/http` name, stored before each of them: the state that a reader has when sending it. */

/** Of the variables of a file. */
export type Values = Readonly<Record<string, string>>;

export interface Moment {
  readonly service: RunningService;
  /** The requests of the file, with the values that it sets itself. */
  readonly requests: readonly FileRequest[];
  /** Differs at each request. */
  readonly turn: number;
}

/** A part of each service, which needs no network. */
const PROVIDER = 'local-token-overlap-reranker';

type Seed = (moment: Moment) => Promise<Values>;

/** By the name of the file. A file without a seed reads what each service has. */
const seeds: Readonly<Record<string, Seed>> = {
  canonical: leasedEvent,
  collections: waitingJob,
  embeddings: waitingJob,
  execution: leasedRun,
  graph: waitingJob,
  objects: storedObject,
  providers: localProvider,
  rag: waitingJob,
  records: () => Promise.resolve({ pk: '2026' }),
  retrieval: waitingJob,
  traces: storedTrace,
};

/** The collections and a trace, in a database that a service is started on afterwards. */
export async function storeResultsOfWork(folder: string): Promise<void> {
  const service = await startService({ folder });
  await service.start();
  try {
    const first = { service, requests: [], turn: 0 };
    await ended(first, '/collections/articles/import', {
      snapshot: {
        policy: { name: 'articles', indexedMetadata: ['/metadata/year'] },
        records: [article],
      },
    });
    await ended(first, '/collections/people/graph/import', { envelope });
    await ended(first, `/providers/${PROVIDER}/jobs`, {
      capability: 'ai.rerank',
      payload: { query: 'report', candidates: [{ id: 'a', text: 'The report' }], limit: 1 },
    });
  } finally {
    await service.close();
  }
}

export async function stateOf(group: string, moment: Moment): Promise<Values> {
  return (await seeds[group]?.(moment)) ?? {};
}

async function sent<T>({ service }: Moment, method: string, path: string, body: unknown): Promise<T> {
  const answer = await service.call({
    method,
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
  return answer.json<T>();
}

const article = {
  id: 'a-1',
  partitionKey: '2026',
  type: 'article',
  metadata: { year: 2026 },
  content: { text: 'Hello' },
};

const envelope = {
  scope: { graphId: 'people' },
  nodes: [
    { id: 'ada', type: 'person', label: 'Ada' },
    { id: 'bob', type: 'person' },
  ],
  edges: [{ id: 'ada-knows-bob', sourceId: 'ada', targetId: 'bob', predicate: 'knows' }],
};

/** Waits for the end of the work that the request admits. */
async function ended(moment: Moment, path: string, body: unknown): Promise<void> {
  const { id } = await sent<{ id: string }>(moment, 'POST', path, body);
  const run = await moment.service.ended({ method: 'GET', path: `/execution/runs/${id}` });
  const { status } = run.json<{ status: string }>();
  if (status !== 'succeeded') throw new Error(`${path}: ${run.body}`);
}

/** A job that the first such request of the file starts; no worker of the service has begun it. */
async function waitingJob(moment: Moment, values: Values = {}): Promise<Values> {
  const start = moment.requests.find(({ name }) => /^start\w+Job$/.test(name ?? ''));
  if (start === undefined) throw new Error('no request starts a job');
  const path = start.url.replace('/sample-1/', `/${values['provider']}/`);
  const { id } = await sent<{ id: string }>(moment, 'POST', path, JSON.parse(start.body ?? ''));
  return { ...values, jobId: id };
}

function localProvider(moment: Moment): Promise<Values> {
  return waitingJob(moment, { provider: PROVIDER });
}

async function storedTrace({ service }: Moment): Promise<Values> {
  const answer = await service.call({ method: 'GET', path: '/traces' });
  return { id: answer.json<readonly { id: string }[]>()[0]?.id ?? '' };
}

async function storedObject({ service }: Moment): Promise<Values> {
  const headers = { 'content-type': 'text/plain' };
  await service.call({ method: 'PUT', path: '/objects/reports/summary', headers, body: 'text' });
  return { key: 'summary' };
}

interface Lease {
  readonly event: { readonly id: string; readonly transactionId: string };
  readonly leaseToken: string;
}

/** An event that a dispatcher holds, and a fence. */
async function leasedEvent(moment: Moment): Promise<Values> {
  const tenantId = 'acme';
  const tenant = `/canonical/tenants/${tenantId}`;
  const document = {
    tenantId,
    documentType: 'order',
    id: 'order-1000',
    schemaVersion: '1',
    data: {},
    indexes: { status: 'open' },
  };
  const { transactionId } = await sent<{ transactionId: string }>(moment, 'POST', `${tenant}/transactions`, {
    tenantId,
    idempotencyKey: `order ${moment.turn}`,
    mutations: [{ operation: 'upsert', document }],
    fences: [
      {
        operation: 'claim',
        name: 'order-number',
        value: '1000',
        ownerDocumentType: 'order',
        ownerDocumentId: document.id,
      },
    ],
    outbox: [{ topic: 'order.created', key: document.id, payload: {} }],
  });
  const leases = await sent<readonly Lease[]>(moment, 'POST', `${tenant}/outbox/leases`, {
    tenantId,
    consumerId: 'dispatcher-1',
  });
  const lease = leases.find(({ event }) => event.transactionId === transactionId);
  return {
    tenantId,
    eventId: lease?.event.id ?? '',
    leaseToken: lease?.leaseToken ?? '',
    name: 'order-number',
    value: '1000',
  };
}

/** A run that the worker of the requests holds, with an artifact and a checkpoint. */
async function leasedRun(moment: Moment): Promise<Values> {
  await sent(moment, 'POST', '/execution/runs', { handlerId: 'invoice.render', payload: {} });
  const workerId = 'renderer-1';
  const lease = await sent<{ leaseKey: string; leaseToken: string; run: { id: string } }>(
    moment,
    'POST',
    '/execution/workers/leases',
    { workerId, handlerIds: ['invoice.render'], ttlSeconds: 60 },
  );
  const { leaseKey, leaseToken } = lease;
  const held = { leaseKey, leaseToken, workerId };
  const artifact = { name: 'page.json', content: { a: 1 } };
  await sent(moment, 'POST', '/execution/workers/leases/artifacts', {
    ...held,
    artifact,
  });
  const checkpoint = { key: 'pages', content: { a: 1 } };
  await sent(moment, 'POST', '/execution/workers/leases/checkpoints', { ...held, checkpoint });
  return { leaseKey, leaseToken, runId: lease.run.id, key: 'pages', artifactRef: 'page.json' };
}
