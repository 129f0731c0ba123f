import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { patienceMs } from '../support/effort.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { executionGrantSettings } from './matrix-execution.ts';
import { providerOperations } from './matrix-providers.ts';
import { recordGrantSettings } from './matrix-records.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

/** Strangers, callers without the right and callers of another space must not read or change jobs of providers, or delay those of others. */

const space = `space-${randomUUID()}`;
const product = 'shop';
const RUN = '/providers/local-deterministic-ai/run';
const principalOf = (name: string) => `${name}@project.example`;
const runRights = {
  product,
  tenants: [space],
  handlers: [],
  worker: 'worker',
  operations: ['start_run', 'read_run', 'cancel_run'],
};

let service: IssuedService;
beforeAll(async () => {
  const all = [...providerOperations];
  const neighbour = { space: `${space}-other`, operations: all };
  service = await startIssuedService(
    [{ principal: principalOf('caller'), tenants: [space], operations: ['read'] }],
    {
      ...executionGrantSettings(
        ['caller', 'watcher'].map((name) => [principalOf(name), runRights] as const),
        serviceAudience,
      ),
      ...recordGrantSettings(
        [
          [principalOf('caller'), { space, operations: all }],
          [principalOf('reader'), { space, operations: ['read'] }],
          [principalOf('neighbour'), neighbour],
          [principalOf('ranker'), { space, operations: ['run'] }],
          [principalOf('looker'), { space, operations: ['read', 'qualify'] }],
        ],
        serviceAudience,
        'Server:ProviderAccess',
      ),
      ...recordGrantSettings(
        ['keeper', 'ranker', 'looker'].map((name) => [
          principalOf(name),
          { space, operations: ['read', 'write', 'delete', 'maintain'] },
        ]),
        serviceAudience,
      ),
    },
  );
});
afterAll(() => service.close());

async function send(name: string | null, method: string, path: string, body?: object) {
  const email = name === null ? null : principalOf(name);
  const token = email && (await service.issuer.mint({ email, audience: serviceAudience }));
  const headers = token === null || token === '' ? {} : { Authorization: `Bearer ${token}` };
  return service.call({ method, path, headers, ...(body && { body }) });
}

const query = `?${new URLSearchParams({ productId: product, tenantId: space }).toString()}`;
const saying = (content: string) => ({
  capability: 'ai.chat',
  payload: { messages: [{ role: 'user', content }] },
});

async function finished(content: string): Promise<string> {
  const started = await send('caller', 'POST', RUN + query, saying(content));
  expect(started.status, started.body).toBe(202);
  const { id } = started.json<{ id: string }>();
  for (;;) {
    const job = (await send('caller', 'GET', `/provider-jobs/${id}`)).json<{ completedAt: string | null }>();
    if (job.completedAt !== null) return id;
  }
}

describe('a job of a provider', () => {
  const mark = `mark-${randomUUID()}`;
  let id: string;
  beforeAll(async () => {
    id = await finished(mark);
  });

  test('is there for who may read in its space', async () => {
    for (const name of ['caller', 'reader'])
      expect((await send(name, 'GET', `/provider-jobs/${id}`)).body).toContain(mark);
  });

  test('is not there for another space, which cannot change it either', async () => {
    for (const method of ['GET', 'DELETE'])
      expect((await send('neighbour', method, `/provider-jobs/${id}`)).status).toBe(404);
    expect((await send('neighbour', 'GET', '/provider-jobs?includeResult=true')).json()).toEqual([]);
    expect((await send('caller', 'GET', `/provider-jobs/${id}`)).json()).toMatchObject({
      status: 'Succeeded',
      cancellationRequested: false,
    });
  });

  test.each([
    [null, 401],
    ['keeper', 403],
    ['nobody', 403],
  ] as const)('tells %s nothing', async (name, status) => {
    for (const path of [`/provider-jobs/${id}`, '/provider-jobs', '/providers', '/providers/quotas']) {
      const answer = await send(name, 'GET', path);
      expect(answer.status).toBe(status);
      expect(answer.body).not.toContain(mark);
    }
    for (const path of [RUN, '/providers/none/run', '/providers/local-deterministic-ai/qualify'])
      expect((await send(name, 'POST', path, saying('hello'))).status).toBe(status);
  });

  test('is started and cancelled by who may run, and providers are tried by who may qualify', async () => {
    expect((await send('reader', 'POST', RUN, saying('hello'))).status).toBe(403);
    expect((await send('reader', 'DELETE', `/provider-jobs/${id}`)).status).toBe(403);
    expect((await send('reader', 'POST', '/providers/local-deterministic-ai/qualify', {})).status).toBe(403);
    // The right is asked for before the provider is looked up.
    expect((await send('reader', 'POST', '/providers/none/run', saying('hello'))).status).toBe(403);
  });

  test('names no other tenant than the space of its caller', async () => {
    const foreign = `?${new URLSearchParams({ productId: product, tenantId: `${space}-other` }).toString()}`;
    expect((await send('caller', 'POST', RUN + foreign, saying('hello'))).status).toBe(403);
  });

  test('as a run does not exist for a caller of runs without a right of providers', async () => {
    expect((await send('caller', 'GET', `/execution/runs/${id}`)).body).toContain(mark);
    for (const [method, path] of [
      ['GET', `/execution/runs/${id}`],
      ['GET', `/execution/runs/${id}/artifacts`],
      ['DELETE', `/execution/runs/${id}`],
    ] as const) {
      const answer = await send('watcher', method, path);
      expect([answer.status, answer.body.includes(mark)]).toEqual([404, false]);
    }
    const list = await send('watcher', 'GET', `/execution/runs${query}`);
    expect(list.body).not.toContain(id);
  });
});

test('a proof by a run or a trial of one space shows another space nothing of them', async () => {
  const local = '/providers/local-deterministic-ai';
  await finished('a plan');
  const tried = await send('caller', 'POST', `${local}/qualify`, { capability: 'ai.review' });
  expect(tried.json()).toMatchObject([
    { evidenceRefs: [/^trace:/, /^input:/, /^output:/].map((ref): unknown => expect.stringMatching(ref)) },
  ]);
  const refsAt = async (name: string, path: string) => {
    const answer = (await send(name, 'GET', local + path)).json();
    const all = (Array.isArray(answer) ? answer : (answer as { items: unknown }).items) as readonly Proof[];
    const known = all.filter((each) => (each.status ?? each.qualificationStatus) === 'validated');
    return Object.fromEntries(known.map(({ capability, evidenceRefs }) => [capability, evidenceRefs]));
  };
  for (const path of ['/qualifications', '/readiness'])
    expect(await refsAt('neighbour', path)).toEqual({
      'ai.chat': [],
      'ai.review': [expect.stringMatching(/^input:sha256:/)],
    });
});

interface Proof {
  readonly capability: string;
  readonly status?: string;
  readonly qualificationStatus?: string;
  readonly evidenceRefs: readonly string[];
}

describe('a retrieval that has a provider rank', () => {
  const asking = (provider: string | null, enabled = true) => ({
    query: 'fox',
    collections: ['absent'],
    rerank: { enabled, provider },
  });
  const expected = [{ id: 'a' }];
  const plain = { request: { query: 'fox', collections: ['absent'] }, expected };
  const caseOf = (provider: string | null) => ({ request: asking(provider), expected });
  /** Each way to the provider, which stands in the last case, or in the last variant alone. */
  const ways: readonly (readonly [path: string, through: number, body: (id: string | null) => object])[] = [
    ['/search', 404, asking],
    ['/retrieval/evaluate', 200, (id) => ({ cases: [plain, caseOf(id)] })],
    ...(['', '/jobs'] as const).flatMap((end) => {
      const path = `/retrieval/evaluate/compare${end}`;
      const through = end === '' ? 200 : 202;
      return [
        [path, through, (id: string | null) => ({ cases: [plain, caseOf(id)], variants: [{ id: 'a' }] })],
        [
          path,
          through,
          (id: string | null) => ({
            cases: [plain],
            variants: [{ id: 'a' }, { id: 'b', rerank: asking(id).rerank }],
          }),
        ],
      ] as const;
    }),
    ['/retrieval/evaluate/jobs', 202, (id) => ({ cases: [plain, caseOf(id)] })],
    ['/rag/context', 404, (id) => ({ retrieval: asking(id) })],
    ['/rag/prompt', 404, (id) => ({ context: { retrieval: asking(id) } })],
    ['/rag/context/evaluate', 200, (id) => ({ cases: [{ request: { retrieval: asking(id) } }] })],
  ];
  const known = 'local-deterministic-ai';
  const own = 'local-token-overlap-reranker';
  const post = (name: string, path: string, body: object) =>
    send(name, 'POST', path.endsWith('/jobs') ? path + query : path, body);

  test.each(ways)('by %s is for who may run providers', async (path, through, body) => {
    for (const name of ['keeper', 'looker'])
      for (const id of [known, 'none', ` ${known} `]) {
        const answer = await post(name, path, body(id));
        expect([answer.status, answer.json<{ code: string }>().code]).toEqual([403, 'permission_denied']);
      }
    for (const id of [known, 'none']) expect((await post('ranker', path, body(id))).status).toBe(through);
    for (const id of [null, '', ` ${own}`])
      expect((await post('keeper', path, body(id))).status).toBe(through);
  });

  test('is asked for nothing where it does not rank', async () => {
    expect((await post('keeper', '/search', asking('none', false))).status).toBe(404);
  });
});

test('the runs of a busy neighbour cost a space none of its own', async () => {
  const rerank = '/providers/local-token-overlap-reranker/qualify';
  for (let at = 0; at < 62; at += 1) await send('neighbour', 'POST', rerank, {});
  expect((await send('caller', 'POST', rerank, {})).json()).toMatchObject([{ status: 'validated' }]);
  const traces = await send('keeper', 'GET', '/traces?operation=provider.run&limit=200');
  const runs = traces.json<readonly { readonly resultSummary: { readonly status: string } }[]>();
  // The runs of the neighbour are in its own space.
  expect(runs.length).toBeLessThan(10);
  expect(runs.every(({ resultSummary }) => resultSummary.status === 'Succeeded')).toBe(true);
});
