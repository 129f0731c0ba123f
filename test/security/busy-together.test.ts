import { afterAll, beforeAll, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { artifactForm } from '../support/forms.ts';
import { builtInHandlers, type RunningService, startService } from '../support/service.ts';
import { WorkMeter } from '../support/work-meter.ts';
import { RecordSpace } from './record-space.ts';

/**
 * Jobs of one space of every family of the catalogue, at work beside each other: all of them hold a turn of the event loop no longer
 * than the longest of them alone. Work is counted, as in `busy-jobs.test.ts`.
 */

/** The steps beside the turns of the jobs: a commit that several jobs share, and answers to reads of the jobs. */
const STEPS_BESIDE = 1_500;
/** Chance may put the end of one turn and the beginning of another into one; not in each measurement. */
const MEASUREMENTS_MAX = 3;
const LIBRARY_RECORDS = 200;

let meter: WorkMeter;
let service: RunningService;
let space: RecordSpace;

const WORDS = ['harbour', 'river', 'night', 'fox', 'winter', 'garden', 'stone', 'letter'];
const textOf = (n: number, length: number) =>
  Array.from({ length }, (_, at) => `${WORDS[(n * 7 + at) % WORDS.length]}${(n + at * at) % 5}`).join(' ');
const recordOf = (n: number) => {
  return { id: `r${n}`, partitionKey: 'p', type: 'note', content: { text: textOf(n, 60) } };
};
const recordsOf = (n: number, count: number) =>
  Array.from({ length: count }, (_, at) => recordOf(1_000 + count * n + at));
const documentOf = (id: string, n: number) => {
  return { documentId: id, partitionKey: 'd', text: textOf(n, 4_000), options: { chunkChars: 800 } };
};
const cases = Array.from({ length: 2 }, (_, at) => {
  const query = textOf(at, 3);
  return { request: { query, collections: ['library'], limit: 10 }, expected: [{ id: `r${at}` }] };
});
const post = (path: string, body: object): InjectedRequest => ({ method: 'POST', path, body });

/** The request that starts a job of each handler of the catalogue; `n` makes each different. */
const jobs: Readonly<Record<string, (n: number) => InjectedRequest>> = {
  'svc.collections.create': (n) => post('/collections', { name: `new${n}` }),
  'svc.collections.delete': (n) => ({ method: 'DELETE', path: `/collections/gone${n}` }),
  'svc.records.batch-upsert': (n) =>
    post('/collections/library/records/batch', { records: recordsOf(n, 60) }),
  'svc.records.collection-import': (n) =>
    post(`/collections/copy${n}/import`, {
      snapshot: { collection: `copy${n}`, policy: { name: `copy${n}` }, records: recordsOf(n, 60) },
    }),
  'svc.artifacts.record-ingest': (n) => {
    const parts = {
      collection: 'library',
      record: recordOf(9_000 + n),
      artifact: { container: 'files', key: `k${n}` },
    };
    const form = artifactForm(JSON.stringify(parts), Buffer.from(textOf(n, 2_000)), 'text/plain');
    return { method: 'POST', path: '/ingest/record-artifact', ...form };
  },
  'svc.embedding.batch': (n) =>
    post('/embeddings/jobs', { texts: Array.from({ length: 40 }, (_, at) => textOf(40 * n + at, 200)) }),
  'svc.provider.run': (n) => {
    const candidates = Array.from({ length: 40 }, (_, at) => ({ id: `c${at}`, text: textOf(n + at, 60) }));
    const payload = { query: textOf(n, 3), candidates, limit: 20 };
    return post('/providers/local-token-overlap-reranker/jobs', { capability: 'ai.rerank', payload });
  },
  'svc.retrieval.evaluation.run': () => post('/retrieval/evaluate/jobs', { cases }),
  'svc.retrieval.evaluation.compare': () =>
    post('/retrieval/evaluate/compare/jobs', { cases, variants: [{ id: 'v', limit: 5 }] }),
  'svc.rag.ingestion.text': (n) => post('/collections/library/rag/ingest-text/jobs', documentOf(`t${n}`, n)),
  'svc.rag.ingestion.batch': (n) =>
    post('/collections/library/rag/ingest-text/batch', { items: [documentOf(`b${n}`, n)] }),
  'svc.graph.import': (n) => post(`/collections/graph${n}/graph/import`, { envelope: graphOf(n) }),
  'svc.graph.inspect': () => post('/collections/graph/graph/inspect/jobs', { allowPartialGraph: true }),
  'svc.graph.doctor': () => post('/collections/graph/graph/doctor/jobs', { allowPartialGraph: true }),
};

function graphOf(n: number): object {
  const nodes = Array.from({ length: 150 }, (_, at) => {
    return { id: `${at}`, type: 'person', label: textOf(n + at, 20) };
  });
  return { scope: {}, nodes, edges: [] };
}

const handlers = Object.keys(jobs);
/** As many as one space may have active: jobs that manage collections work one after the other, and the artifact is small. */
const together = [
  ...handlers,
  ...handlers.slice(2).filter((handler) => !handler.startsWith('svc.artifacts')),
];
/** Each job has names of its own. */
let made = 0;

beforeAll(async () => {
  meter = new WorkMeter();
  const world = meter.world(machine);
  service = await startService({ world, settings: { 'Embeddings:Provider': 'deterministic-hash' } });
  space = new RecordSpace(service.call);
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 64 }];
  await space.create({ name: 'library', vectorPolicies });
  const records = Array.from({ length: LIBRARY_RECORDS }, (_, n) => recordOf(n));
  await ended(await admitted(post('/collections/library/records/batch', { records })), null);
  await ended(await admitted(post('/collections/graph/graph/import', { envelope: graphOf(0) })), null);
});
afterAll(async () => {
  // The service starts before the meter: without it the meter would count turns for ever.
  meter.close();
  await service.close();
});

async function admitted(request: InjectedRequest): Promise<string> {
  const { status, body } = await service.call(request);
  expect(status, body).toBe(202);
  return (JSON.parse(body) as { readonly id: string }).id;
}

async function ended(id: string, handler: string | null): Promise<void> {
  for (;;) {
    const path = `/execution/runs/${id}?waitSeconds=20&includeResult=false`;
    const run = (await service.call({ method: 'GET', path })).json<{
      readonly status: string;
      readonly handlerId: string;
      readonly error: string | null;
    }>();
    if (handler !== null) expect(run.handlerId).toBe(handler);
    if (run.status === 'succeeded') return;
    expect(['queued', 'running', 'waiting'], `${handler} ${run.error}`).toContain(run.status);
  }
}

/** The steps of the turn with the most, while a job of each of these handlers is at work. */
async function stepsMost(wanted: readonly string[]): Promise<number> {
  const admissions: (readonly [string, string])[] = [];
  for (const handler of wanted) {
    made += 1;
    if (handler === 'svc.collections.delete') await space.create({ name: `gone${made}` });
    admissions.push([await admitted(jobs[handler]!(made)), handler]);
  }
  const begin = meter.turns;
  await Promise.all(admissions.map(([id, handler]) => ended(id, handler)));
  return meter.since(begin).stepsMost;
}

test('a job of each handler of the catalogue is tried here', async () => {
  expect(new Set(handlers)).toEqual(await builtInHandlers(service));
});

test('jobs of all families of a space hold a turn together no longer than the longest alone', async () => {
  const alone: number[] = [];
  for (const handler of handlers) {
    // Modules load at the first job, which must not count as its work.
    await stepsMost([handler]);
    alone.push(await stepsMost([handler]));
  }
  const bound = Math.max(...alone) + STEPS_BESIDE;
  let most = Infinity;
  for (let time = 0; time < MEASUREMENTS_MAX && most >= bound; time += 1) most = await stepsMost(together);
  expect(most).toBeLessThan(bound);
});
