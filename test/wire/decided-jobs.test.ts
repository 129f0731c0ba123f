import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { INGEST_HANDLER } from '../../functions/groups/artifacts/artifact-jobs.ts';
import { CREATE_HANDLER, DELETE_HANDLER } from '../../functions/groups/collections/collection-jobs.ts';
import { GRAPH_HANDLERS } from '../../functions/groups/graph/jobs/graph-jobs.ts';
import * as rag from '../../functions/groups/rag/jobs/rag-jobs.ts';
import * as records from '../../functions/groups/records/library/job-facts.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import type { decide } from '../../functions/runs/work.ts';
import { RecordSpace } from '../security/record-space.ts';
import { artifactForm } from '../support/forms.ts';
import { builtInHandlers, hurried, type RunningService, startService } from '../support/service.ts';

/** A cancellation at the moment before a job decides, and one at the moment after. */

type Hook = (runId: string) => Promise<void>;
const at = vi.hoisted(() => ({ before: null as Hook | null, after: null as Hook | null }));
vi.mock('../../functions/runs/work.ts', async (original) => {
  const module = await original<{ decide: typeof decide }>();
  const watched: typeof decide = async (...given) => {
    const [, { runId }] = given;
    await at.before?.(runId);
    const answer = await module.decide(...given);
    await at.after?.(runId);
    return answer;
  };
  return { ...module, decide: watched };
});

let service: RunningService;
let space: RecordSpace;
beforeAll(async () => {
  service = await startService({ world: hurried });
  await service.start();
  space = new RecordSpace(service.call);
});
afterAll(() => service.close());

const vectorPolicies = [
  { name: 'contentEmbedding', path: '/vectors/contentEmbedding/values', dimensions: 384 },
];
const record = { id: 'a', partitionKey: 'p', content: { text: 'x' } };
const document = (documentId: string) => ({ documentId, partitionKey: 'p', text: 'A river in spring.' });
const post = (path: string, body: object): InjectedRequest => ({ method: 'POST', path, body });

interface Job {
  readonly handler: string;
  /** The state before the job. */
  readonly given: 'nothing' | 'a collection' | 'a collection with a record';
  readonly ask: (name: string) => InjectedRequest;
  /** A read of the collection whose answer differs once the work is done. */
  readonly seen: (name: string) => InjectedRequest;
}

const query = (name: string) => post(`/collections/${name}/query`, {});
const jobs: Readonly<Record<string, Job>> = {
  'creates a collection': {
    handler: CREATE_HANDLER,
    given: 'nothing',
    ask: (name) => post('/collections', { name }),
    seen: (name) => ({ method: 'GET', path: `/collections/${name}` }),
  },
  'deletes a collection': {
    handler: DELETE_HANDLER,
    given: 'a collection',
    ask: (name) => ({ method: 'DELETE', path: `/collections/${name}` }),
    seen: (name) => ({ method: 'GET', path: `/collections/${name}` }),
  },
  'writes a batch': {
    handler: records.BATCH_HANDLER,
    given: 'a collection',
    ask: (name) => post(`/collections/${name}/records/batch/jobs`, { records: [record] }),
    seen: query,
  },
  'imports records': {
    handler: records.IMPORT_HANDLER,
    given: 'a collection',
    ask: (name) =>
      post(`/collections/${name}/import/jobs`, {
        snapshot: { collection: name, policy: { name, vectorPolicies }, records: [record] },
      }),
    seen: query,
  },
  'imports no record into a new collection': {
    handler: records.IMPORT_HANDLER,
    given: 'nothing',
    ask: (name) =>
      post(`/collections/${name}/import/jobs`, {
        snapshot: { collection: name, policy: { name }, records: [] },
      }),
    seen: query,
  },
  'replaces a collection': {
    handler: records.IMPORT_HANDLER,
    given: 'a collection with a record',
    ask: (name) =>
      post(`/collections/${name}/import/jobs`, {
        snapshot: { collection: name, policy: { name }, records: [{ ...record, id: 'b' }] },
        replaceExisting: true,
      }),
    seen: query,
  },
  'ingests a text': {
    handler: rag.TEXT_HANDLER,
    given: 'a collection',
    ask: (name) => post(`/collections/${name}/rag/ingest-text`, document('d')),
    seen: query,
  },
  'ingests texts': {
    handler: rag.BATCH_HANDLER,
    given: 'a collection',
    ask: (name) => post(`/collections/${name}/rag/ingest-text/batch`, { items: [document('d')] }),
    seen: query,
  },
  'imports a graph': {
    handler: GRAPH_HANDLERS.import,
    given: 'nothing',
    ask: (name) =>
      post(`/collections/${name}/graph/import`, {
        envelope: { schema: 'svc.graph.v1', scope: {}, nodes: [{ id: 'n', type: 'x' }] },
      }),
    seen: query,
  },
  'ingests an artifact': {
    handler: INGEST_HANDLER,
    given: 'a collection',
    ask: (name) => {
      const artifact = { container: 'files', key: name };
      const { headers, body } = artifactForm(
        JSON.stringify({ collection: name, record, artifact }),
        Buffer.from('bytes'),
        'text/plain',
      );
      return { method: 'POST', path: '/ingest/record-artifact', headers, body };
    },
    seen: (name) => ({ method: 'GET', path: `/objects/files/${name}` }),
  },
};

async function prepared({ given }: Job): Promise<string> {
  const name = `c-${randomUUID()}`;
  if (given === 'nothing') return name;
  await space.create({ name, vectorPolicies });
  if (given === 'a collection') return name;
  const written = await service.call(post(`/collections/${name}/records`, record));
  expect(written.status, written.body).toBe(201);
  return name;
}

/** Runs the job, which is cancelled at the moment. Answers how it ended, and what others saw before and see now. */
async function cancelledAt(moment: 'before' | 'after', job: Job) {
  const name = await prepared(job);
  const look = async () => {
    const { status, body } = await service.call(job.seen(name));
    return { status, body: status === 200 ? body : '' };
  };
  const earlier = await look();
  let cancels = 0;
  at[moment] = async (runId) => {
    cancels += 1;
    const answer = await service.call({ method: 'DELETE', path: `/execution/runs/${runId}` });
    expect(answer.status, answer.body).toBe(200);
  };
  const admitted = await service.call(job.ask(name));
  expect(admitted.status, admitted.body).toBe(202);
  const { id } = admitted.json<{ id: string }>();
  const run = (await service.ended({ method: 'GET', path: `/execution/runs/${id}` })).json<{
    handlerId: string;
    status: string;
    failureClass: string | null;
    error: string | null;
  }>();
  at[moment] = null;
  expect(cancels).toBeGreaterThan(0);
  expect(run.handlerId).toBe(job.handler);
  return { run, earlier, now: await look() };
}

describe.each(Object.entries(jobs))('a job that %s', (_, job) => {
  test('has changed nothing where it is cancelled before it decides', async () => {
    const { run, earlier, now } = await cancelledAt('before', job);
    expect(run).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    expect(now).toEqual(earlier);
  });

  test('has succeeded where it is cancelled afterwards', async () => {
    const { run, earlier, now } = await cancelledAt('after', job);
    expect(run, String(run.error)).toMatchObject({ status: 'succeeded', cancellationRequested: false });
    expect(now).not.toEqual(earlier);
  });
});

test('no job of the service is left out', async () => {
  const deciding = Object.values(jobs).map(({ handler }) => handler);
  // They read, or what they do is their result.
  const results = [
    'svc.embedding.batch',
    'svc.graph.doctor',
    'svc.graph.inspect',
    'svc.provider.run',
    'svc.retrieval.evaluation.compare',
    'svc.retrieval.evaluation.run',
  ];
  expect(await builtInHandlers(service)).toEqual(new Set([...deciding, ...results]));
});
