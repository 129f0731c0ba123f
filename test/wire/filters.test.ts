import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';

/** Filters that would match every record in silence, in every operation that takes one. */

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string; readonly requestBody?: object }>>>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const { paths, components } = JSON.parse(
  readFileSync('contracts/generated/openapi/svc.json', 'utf8'),
) as OpenApi;

/** The models that a part of the document leads to. */
function reached(part: object, seen = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    if (seen.has(name)) continue;
    seen.add(name);
    reached(components.schemas[name] ?? {}, seen);
  }
  return seen;
}

const takesFilter = Object.values(paths)
  .flatMap((item) => Object.values(item))
  .filter(({ requestBody = {} }) => reached(requestBody).has('FilterNode'))
  .map(({ operationId }) => operationId);

type Asked = readonly [path: string, place: string, body: (filter: object) => object];

const retrieval = (filter: object) => ({
  query: 'word',
  collections: ['notes'],
  searchMode: 'lexical',
  filter,
});
const context = (filter: object) => ({ retrieval: retrieval(filter) });
const cases = (filter: object) => ({ cases: [{ request: retrieval(filter), expected: [{ id: 'a' }] }] });
const compared = (filter: object) => ({ ...cases(filter), variants: [{ id: 'a' }, { id: 'b' }] });

/** Evaluations report a refused case as failed, and continue. */
const IN_CASE = '';

/** How each of them is asked, and where its filter stands. */
const asked: Readonly<Record<string, Asked>> = {
  queryRecords: ['/collections/notes/query', '/filter', (filter) => ({ filter })],
  searchRecords: ['/collections/notes/search', '/filter', (filter) => ({ filter })],
  exportCollectionBounded: [
    '/collections/notes/export',
    '/query/filter',
    (filter) => ({ query: { filter } }),
  ],
  retrieve: ['/search', '/filter', retrieval],
  evaluateRetrieval: ['/retrieval/evaluate', IN_CASE, cases],
  startRetrievalEvaluationJob: ['/retrieval/evaluate/jobs', IN_CASE, cases],
  compareRetrievalEvaluations: ['/retrieval/evaluate/compare', IN_CASE, compared],
  startRetrievalEvaluationComparisonJob: ['/retrieval/evaluate/compare/jobs', IN_CASE, compared],
  buildRagContext: ['/rag/context', '/retrieval/filter', context],
  buildRagPrompt: ['/rag/prompt', '/context/retrieval/filter', (filter) => ({ context: context(filter) })],
  evaluateRagContext: [
    '/rag/context/evaluate',
    IN_CASE,
    (filter) => ({ cases: [{ request: context(filter) }] }),
  ],
};

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  const made = await service.call({ method: 'POST', path: '/collections', body: { name: 'notes' } });
  await service.ended({ method: 'GET', path: made.headers['location'] ?? '' });
  const record = { id: 'a', partitionKey: 'p', metadata: { word: 'word' } };
  await service.call({ method: 'POST', path: '/collections/notes/records', body: record });
});
afterAll(() => service.close());

test('they are these operations', () => {
  expect(takesFilter.toSorted()).toEqual(Object.keys(asked).toSorted());
});

const leaf = { path: '/id', value: 'a' };

/** The answer, or the end of the job that it admits. */
async function finished(given: { readonly method: string; readonly path: string; readonly body: object }) {
  const answer = await service.call(given);
  if (answer.status !== 202) return answer;
  return service.ended({ method: 'GET', path: answer.headers['location'] ?? '' });
}

describe.each(Object.entries(asked))('%s', (_, [path, place, body]) => {
  test.each([
    [{ combine: 'any', children: [] }, '/children'],
    [{ combine: 'any' }, '/children'],
    [{ children: [leaf] }, '/combine'],
    [{ combine: 'all', children: [leaf, { combine: 'any', children: [{}] }] }, '/children/1/children'],
  ])('refuses %j', async (filter, member) => {
    const given = { method: 'POST', path, body: body(filter) };
    const answer = place === IN_CASE ? await finished(given) : await service.call(given);
    if (place === IN_CASE) {
      expect([answer.status, answer.body]).toEqual([200, expect.stringContaining(`/filter${member}: must`)]);
      return;
    }
    const { code, errors } = answer.json<{ code?: string; errors?: readonly { pointer: string }[] }>();
    expect([answer.status, code, errors?.[0]?.pointer]).toEqual([
      400,
      'validation_failed',
      `${place}${member}`,
    ]);
  });

  test('takes a condition, an empty group and nothing', async () => {
    for (const filter of [
      leaf,
      { ...leaf, children: [], combine: null },
      { combine: 'all', children: [] },
      {},
    ]) {
      const { status, body: text } = await service.call({ method: 'POST', path, body: body(filter) });
      expect([200, 202], text).toContain(status);
    }
  });
});
