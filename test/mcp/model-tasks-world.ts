import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { McpService } from './service-stage.ts';

/** The stored data that the tasks of a model are about: notes, manuals in chunks, a graph of people, and a run that has ended. */

type Members = Readonly<Record<string, unknown>>;

export const HANDLER = 'invoice.render';
export const SCOPE = { productId: 'papers', tenantId: 'acme' };
const WORKER = 'worker-1';
const HEADERS = { 'X-Svc-Development-Identity': 'writer' };

/** Settings of the service: a worker outside executes the runs of the handler. */
export const worldSettings: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    Principal: 'worker',
    ProductId: SCOPE.productId,
    WorkerId: WORKER,
    'AllowedOperations:0': 'worker',
  }).map(([name, value]) => [`Server:ExecutionAccess:IdentityPolicies:7:${name}`, value]),
);

const TOPICS = ['tea', 'coffee', 'water', 'bread', 'soup'];
const FILLER =
  'The rest of the page says how long it takes, which tools are needed, and how the guests liked it. '.repeat(
    3,
  );

/** A note for each year from 2000: every fifth is about tea, every third is a memo. */
const notes: readonly Members[] = Array.from({ length: 30 }, (_, at) => ({
  id: `n-${String(at).padStart(2, '0')}`,
  partitionKey: at < 15 ? 'old' : 'new',
  type: at % 3 === 0 ? 'memo' : 'note',
  metadata: { year: 2000 + at, topic: TOPICS[at % 5] },
  content: { text: `How we made ${TOPICS[at % 5]} in ${2000 + at}. ${FILLER}Last words of ${at}.` },
}));

const manuals: readonly Members[] = [
  { documentId: 'kettle', text: `Fill the kettle with water. Descale it with vinegar each month. ${FILLER}` },
  { documentId: 'toaster', text: `Empty the crumb tray of the toaster. Never put it into water. ${FILLER}` },
  { documentId: 'oven', text: `Heat the oven before you bake. Clean the door with a soft cloth. ${FILLER}` },
].map((each) => ({
  ...each,
  text: `${each.text}Last words of the ${each.documentId}.`,
  partitionKey: 'kitchen',
  metadata: { mentions: ['ada'] },
}));

const people: Members = {
  scope: { graphId: 'people' },
  nodes: ['ada', 'bob', 'cleo', 'dan', 'eve'].map((id) => ({ id, type: 'person', label: id.toUpperCase() })),
  edges: [
    { id: 'ada-bob', sourceId: 'ada', targetId: 'bob', predicate: 'knows' },
    { id: 'bob-cleo', sourceId: 'bob', targetId: 'cleo', predicate: 'knows' },
    { id: 'cleo-dan', sourceId: 'cleo', targetId: 'dan', predicate: 'knows' },
    { id: 'ada-eve', sourceId: 'ada', targetId: 'eve', predicate: 'worksFor' },
    { id: 'dan-ada', sourceId: 'dan', targetId: 'ada', predicate: 'knows' },
  ],
};

/** What the tasks refer to beside the names above. */
export interface ModelWorld {
  readonly service: McpService;
  /** A run that has ended. */
  readonly runId: string;
  /** The worker takes the next run of the handler, and finishes it with its payload in the result. */
  readonly work: () => Promise<void>;
}

/** Fills a service that was started with `worldSettings`. */
export async function fillWorld(service: McpService): Promise<ModelWorld> {
  await service.start();
  const vectorPolicies = [{ name: 'meaning', path: '/vectors/meaning/values', dimensions: 384 }];
  await done(service, '/collections', { name: 'notes', indexedMetadata: ['/metadata/year'] });
  await done(service, '/collections', { name: 'letterbox' });
  await done(service, '/collections', { name: 'manuals', vectorPolicies });
  await done(service, '/collections/notes/records/batch/jobs', { records: notes });
  await done(service, '/collections/manuals/rag/ingest-text/batch/jobs', { items: manuals });
  await done(service, '/collections/people/graph/import/jobs', { envelope: people });
  const body = { handlerId: HANDLER, scope: SCOPE, payload: { month: 'May' } };
  const { id: runId } = (await call(service, '/execution/runs', body)).json<{ id: string }>();
  const work = () => finishNext(service);
  await work();
  return { service, runId, work };
}

async function call(
  service: McpService,
  path: string,
  body: Members,
  headers: Readonly<Record<string, string>> = HEADERS,
): Promise<InjectedResponse> {
  const answer = await service.call({ method: 'POST', path, headers, body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return answer;
}

/** Starts a job and waits until it has succeeded. */
async function done(service: McpService, path: string, body: Members): Promise<void> {
  const { headers } = await call(service, path, body);
  const read = { method: 'GET', path: headers['location'] ?? '', headers: HEADERS };
  const { status, error } = (await service.ended(read)).json<Record<'status' | 'error', string>>();
  if (status !== 'succeeded') throw new Error(`${path}: ${status} ${error}`);
}

async function finishNext(service: McpService): Promise<void> {
  const path = '/execution/workers/leases';
  const asWorker = { 'X-Svc-Development-Identity': 'worker' };
  const wish = { workerId: WORKER, handlerIds: [HANDLER], ttlSeconds: 600 };
  const leased = await call(service, path, wish, asWorker);
  const lease = leased.json<{ leaseKey: string; leaseToken: string; run: { payload: unknown } }>();
  const { leaseKey, leaseToken } = lease;
  const sent = {
    leaseKey,
    leaseToken,
    workerId: WORKER,
    result: { result: { rendered: lease.run.payload } },
  };
  await call(service, `${path}/complete`, sent, asWorker);
}
