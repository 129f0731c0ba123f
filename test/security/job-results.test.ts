import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { patienceMs } from '../support/effort.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { recordGrantSettings } from './matrix-records.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

/** A caller who may end jobs and not read them gets no result by ending one that has ended. */

const space = `space-${randomUUID()}`;
const principalOf = (name: string) => `${name}@project.example`;

let service: IssuedService;
beforeAll(async () => {
  const grants = (rights: readonly string[], least: readonly string[], more: readonly string[]) =>
    [
      [principalOf('caller'), { space, productId: 'shop', operations: rights }],
      [principalOf('ender'), { space, productId: 'shop', operations: least }],
      [principalOf('writer'), { space, productId: 'shop', operations: more }],
    ] as const;
  const records = grants(['read', 'write', 'delete'], ['delete'], ['write']);
  const providers = grants(['read', 'run', 'qualify'], ['run'], ['qualify']);
  const canonical = { principal: principalOf('caller'), tenants: [space], operations: ['read'] };
  service = await startIssuedService([canonical], {
    ...recordGrantSettings(records, serviceAudience),
    ...recordGrantSettings(providers, serviceAudience, 'Server:ProviderAccess'),
  });
});
afterAll(() => service.close());

async function authorization(name: string) {
  const token = await service.issuer.mint({ email: principalOf(name), audience: serviceAudience });
  return { Authorization: `Bearer ${token}` };
}

async function send(name: string, method: string, path: string, body?: object, key?: string) {
  const headers = { ...(await authorization(name)), ...(key && { 'Idempotency-Key': key }) };
  return service.call({ method, path, headers, ...(body && { body }) });
}

interface Job {
  readonly id: string;
  readonly completedAt: string | null;
  readonly [member: string]: unknown;
}

async function ended(path: string): Promise<Job> {
  const job = await service.ended({ method: 'GET', path, headers: await authorization('caller') });
  return job.json<Job>();
}

const graph = { envelope: { nodes: [{ id: 'a', type: 'thing' }] } };
const chat = { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'Hi' }] } };

test.each([
  ['/embeddings/jobs', '/embeddings/jobs', { texts: ['one'] }, 'result'],
  ['/collections/g/graph/import', '/graph/jobs', graph, 'importResult'],
  ['/providers/local-deterministic-ai/run', '/provider-jobs', chat, 'result'],
  [
    '/retrieval/evaluate/jobs',
    '/retrieval/evaluate/jobs',
    { cases: [{ request: { query: 'x', collections: ['g'] }, expected: [{ id: 'x' }] }] },
    'evaluationResult',
  ],
])('%s', async (start, jobs, body, result) => {
  const started = await send('caller', 'POST', start, body);
  expect(started.status, started.body).toBe(202);
  const path = `${jobs}/${started.json<Job>().id}`;
  const job = await ended(path);
  expect(job[result], JSON.stringify(job)).toEqual(expect.anything());
  expect((await send('ender', 'GET', path)).status).toBe(403);
  const cancelled = await send('ender', 'DELETE', path);
  expect(cancelled.status, cancelled.body).toBe(200);
  expect(cancelled.json<Job>()[result] ?? null).toBeNull();
  expect((await send('caller', 'DELETE', path)).json<Job>()[result]).toEqual(job[result]);
});

test('a caller with write and without read learns nothing from a plan, nor from a repeated start', async () => {
  const imported = await send('caller', 'POST', '/collections/h/graph/import', graph);
  await ended(`/graph/jobs/${imported.json<Job>().id}`);
  const dryRun = { documentId: 'd', partitionKey: 'p', text: 'x', options: { dryRun: true } };
  for (const [name, status] of [
    ['writer', 403],
    // Past its rights: the collection has no vectors.
    ['caller', 400],
  ] as const)
    expect((await send(name, 'POST', '/collections/h/rag/ingest-text', dryRun)).status).toBe(status);
  const inspect = () => send('writer', 'POST', '/collections/h/graph/inspect/jobs', {}, 'again');
  const started = await inspect();
  expect(started.status, started.body).toBe(202);
  const path = `/graph/jobs/${started.json<Job>().id}`;
  expect(await ended(path)).toMatchObject({ graphId: 'default', nodeCount: 1 });
  for (const answer of [await inspect(), await send('ender', 'DELETE', path)])
    expect(answer.json()).toMatchObject({ graphId: null, partitionKey: null, nodeCount: 0, recordCount: 0 });
});
