import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import {
  createCollection,
  newIncarnation,
  removeCollection,
  replaceCollection,
} from '../../functions/collections/pointers.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { machine } from '../../functions/compose/machine.ts';
import { INGEST_HANDLER } from '../../functions/groups/artifacts/artifact-jobs.ts';
import { DELETE_HANDLER } from '../../functions/groups/collections/collection-jobs.ts';
import { GRAPH_HANDLERS } from '../../functions/groups/graph/jobs/graph-jobs.ts';
import * as rag from '../../functions/groups/rag/jobs/rag-jobs.ts';
import * as records from '../../functions/groups/records/library/job-facts.ts';
import * as retrieval from '../../functions/groups/retrieval/jobs/retrieval-jobs.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { DEFAULT_SPACE } from '../../functions/identity/record-access.ts';
import { formatUtc } from '../../functions/kernel/timestamp.ts';
import { artifactForm } from '../support/forms.ts';
import { builtInHandlers, hurried, type RunningService, startService } from '../support/service.ts';

/** Jobs whose collection another call changes between their admission and their first execution. */

let folder: string;
/** Admits jobs and executes none. */
let service: RunningService;
let parts: RecordParts;
beforeAll(async () => {
  const limits = { readsPerCallMax: 1_000, pageRecordsMax: 1_000, answerBytesMax: 1_000_000 };
  folder = mkdtempSync(join(tmpdir(), 'svc-bound-'));
  service = await startService({
    folder,
    role: 'maintenance',
    watchStore(store) {
      parts = createRecordParts({ store: () => Promise.resolve(store), world: machine, limits });
      return store;
    },
  });
  await service.call({ method: 'GET', path: '/collections' });
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const vectorPolicies = [
  { name: 'contentEmbedding', path: '/vectors/contentEmbedding/values', dimensions: 384 },
];
const recordOf = (id: string, text: string) => ({ id, partitionKey: 'p', content: { text } });
const document = (documentId: string) => ({ documentId, partitionKey: 'p', text: 'A river in spring.' });
const post = (path: string, body: object): InjectedRequest => ({ method: 'POST', path, body });
const snapshot = (name: string) => ({
  collection: name,
  policy: { name, vectorPolicies },
  records: [recordOf('a', 'admitted')],
});
const cases = (name: string) => [
  {
    request: { query: 'river', collections: [name], searchMode: 'lexical' },
    expected: [{ id: 'a' }],
  },
];

interface Job {
  readonly handler: string;
  readonly ask: (name: string) => InjectedRequest;
  /** How it ends where its collection was deleted. */
  readonly ends: { readonly status: string; readonly failureClass: string | null };
}

const absent = { status: 'failed', failureClass: 'collection_not_found' };
const done = { status: 'succeeded', failureClass: null };
const jobs: Readonly<Record<string, Job>> = {
  'deletes a collection': {
    handler: DELETE_HANDLER,
    ask: (name) => ({ method: 'DELETE', path: `/collections/${name}` }),
    ends: done,
  },
  'writes a batch': {
    handler: records.BATCH_HANDLER,
    ask: (name) => post(`/collections/${name}/records/batch/jobs`, { records: [recordOf('a', 'admitted')] }),
    ends: absent,
  },
  'imports records': {
    handler: records.IMPORT_HANDLER,
    ask: (name) => post(`/collections/${name}/import/jobs`, { snapshot: snapshot(name) }),
    ends: absent,
  },
  'replaces a collection': {
    handler: records.IMPORT_HANDLER,
    ask: (name) =>
      post(`/collections/${name}/import/jobs`, { snapshot: snapshot(name), replaceExisting: true }),
    ends: absent,
  },
  'ingests a text': {
    handler: rag.TEXT_HANDLER,
    ask: (name) => post(`/collections/${name}/rag/ingest-text`, document('d')),
    ends: absent,
  },
  'ingests texts': {
    handler: rag.BATCH_HANDLER,
    ask: (name) => post(`/collections/${name}/rag/ingest-text/batch`, { items: [document('d')] }),
    ends: absent,
  },
  'plans texts': {
    handler: rag.BATCH_HANDLER,
    ask: (name) =>
      post(`/collections/${name}/rag/ingest-text/batch`, {
        items: [{ ...document('d'), options: { dryRun: true } }],
      }),
    ends: absent,
  },
  'imports a graph': {
    handler: GRAPH_HANDLERS.import,
    ask: (name) =>
      post(`/collections/${name}/graph/import`, {
        envelope: { schema: 'svc.graph.v1', scope: {}, nodes: [{ id: 'n', type: 'x' }] },
        allowNonGraphPolicy: true,
      }),
    ends: absent,
  },
  'inspects a graph': {
    handler: GRAPH_HANDLERS.inspect,
    ask: (name) => post(`/collections/${name}/graph/inspect/jobs`, { allowPartialGraph: true }),
    ends: absent,
  },
  'examines a graph': {
    handler: GRAPH_HANDLERS.doctor,
    ask: (name) => post(`/collections/${name}/graph/doctor/jobs`, { allowPartialGraph: true }),
    ends: absent,
  },
  'ingests an artifact': {
    handler: INGEST_HANDLER,
    ask: (name) => {
      const { headers, body } = artifactForm(
        JSON.stringify({
          collection: name,
          record: recordOf('a', 'admitted'),
          artifact: { container: 'files', key: name },
        }),
        Buffer.from('bytes'),
        'text/plain',
      );
      return { method: 'POST', path: '/ingest/record-artifact', headers, body };
    },
    ends: { status: 'failed', failureClass: 'validation' },
  },
  // The case fails, and a report of failed cases is the success of its job.
  'evaluates retrievals': {
    handler: retrieval.EVALUATION_HANDLER,
    ask: (name) => post('/retrieval/evaluate/jobs', { cases: cases(name) }),
    ends: done,
  },
  'compares retrievals': {
    handler: retrieval.COMPARISON_HANDLER,
    ask: (name) =>
      post('/retrieval/evaluate/compare/jobs', { cases: cases(name), variants: [{ id: 'v', limit: 5 }] }),
    ends: done,
  },
};

/** Admits the job, and has `meanwhile` done before a process executes it. */
async function ended(job: Job, name: string, meanwhile: () => Promise<void>) {
  await createCollection(parts, DEFAULT_SPACE, readPolicy({ name, vectorPolicies }));
  const admitted = await service.call(job.ask(name));
  expect(admitted.status, admitted.body).toBe(202);
  await meanwhile();
  const executing = await startService({ folder, world: hurried });
  await executing.start();
  const path = `/execution/runs/${admitted.json<{ id: string }>().id}`;
  const run = await executing.ended({ method: 'GET', path });
  await executing.close();
  expect(run.json()).toMatchObject({ handlerId: job.handler });
  return run;
}

async function recordsIn(name: string): Promise<string> {
  const { status, body } = await service.call(post(`/collections/${name}/query`, {}));
  return `${status} ${body}`;
}

describe.each(Object.entries(jobs))('a job that %s', (_, job) => {
  test('leaves a collection alone that was created under its name since', async () => {
    const name = `c-${randomUUID()}`;
    let made = '';
    const run = await ended(job, name, async () => {
      await removeCollection(parts, DEFAULT_SPACE, name);
      await createCollection(parts, DEFAULT_SPACE, readPolicy({ name, vectorPolicies }));
      const written = await service.call(
        post(`/collections/${name}/records`, recordOf('made-since', 'river')),
      );
      expect(written.status, written.body).toBe(201);
      made = await recordsIn(name);
    });
    expect(run.json(), run.body).toMatchObject(job.ends);
    expect(await recordsIn(name)).toBe(made);
    // The result holds nothing of the new collection.
    expect(run.body).not.toContain('made-since');
    if (job.handler !== DELETE_HANDLER) expect(run.body).toContain(`Collection '${name}' does not exist.`);
  });

  test('works on the records of the collection after an exchange', async () => {
    const name = `c-${randomUUID()}`;
    const run = await ended(job, name, async () => {
      const incarnation = newIncarnation(parts);
      const policy = readPolicy({ name, vectorPolicies });
      const createdAt = formatUtc(machine.clock.now());
      for (const each of [newIncarnation(parts), incarnation])
        await replaceCollection(parts, DEFAULT_SPACE, { name, incarnation: each, policy, createdAt });
    });
    expect(run.json(), run.body).toMatchObject(done);
    expect(run.body).not.toContain('does not exist');
    const status = job.handler === DELETE_HANDLER ? 404 : 200;
    expect((await service.call({ method: 'GET', path: `/collections/${name}` })).status).toBe(status);
  });
});

test('no job of the service is left out', async () => {
  const bound = Object.values(jobs).map(({ handler }) => handler);
  // The first keeps what stands under its name; the others work on no collection.
  const free = ['svc.collections.create', 'svc.embedding.batch', 'svc.provider.run'];
  expect(await builtInHandlers(service)).toEqual(new Set([...bound, ...free]));
});
