import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  APIResponseError,
  APIStatusError,
  type CanonicalDocument,
  type CanonicalDocumentQueryResult,
  SvcError,
} from '../src/index.ts';
import { json, problem, Stage, thrown } from './stage.ts';

const page = (items: readonly number[], continuationToken: string | null) =>
  json({ items, continuationToken });
const query = { documentType: 'claim', limit: 2 };
const sent = (stage: Stage) => stage.seen.map(({ body }) => JSON.parse(body.toString()) as object);

describe('a list in pages', () => {
  test('gives its first page when it is awaited', async () => {
    await using stage = await Stage.open(page([1, 2], 'a'));
    expect(await stage.client().queryCanonicalDocuments('t', query)).toEqual({
      items: [1, 2],
      continuationToken: 'a',
    });
    expect(stage.seen).toHaveLength(1);
  });

  test('gives the entries of all pages when it is iterated, also of short and empty pages', async () => {
    await using stage = await Stage.open(page([1, 2], 'a'), page([], 'b'), page([3], 'c'), page([4], null));
    const found: unknown[] = [];
    for await (const item of stage.client().queryCanonicalDocuments('t', query)) found.push(item);
    expect(found).toEqual([1, 2, 3, 4]);
    expect(sent(stage)).toEqual([
      query,
      { ...query, continuationToken: 'a' },
      { ...query, continuationToken: 'b' },
      { ...query, continuationToken: 'c' },
    ]);
    expect(new Set(stage.seen.map(({ target }) => target))).toEqual(
      new Set(['/canonical/tenants/t/documents/query']),
    );
  });

  test('begins at the continuation token of the request', async () => {
    await using stage = await Stage.open(page([3], null));
    const call = stage.client().queryCanonicalDocuments('t', { ...query, continuationToken: 'b' });
    expect(await call.all()).toEqual([3]);
    expect(sent(stage)).toEqual([{ ...query, continuationToken: 'b' }]);
  });

  test('requests a page only after the entries of the page before are read', async () => {
    await using stage = await Stage.open(page([1, 2], 'a'), page([3, 4], 'b'));
    for await (const item of stage.client().queryCanonicalDocuments('t', query))
      if (Number(item) === 3) break;
    expect(stage.seen).toHaveLength(2);
  });

  test('sends nothing before it is used, and requests its first page once', async () => {
    await using stage = await Stage.open(page([1], null));
    const asked: string[] = [];
    const client = stage.client({
      fetch(url, init) {
        asked.push(url);
        return fetch(url, init);
      },
    });
    const call = client.queryCanonicalDocuments('t', query);
    await client.health();
    expect(asked).toEqual([`${stage.address}/health`]);
    const [first, again, { data }] = await Promise.all([
      call,
      call.then((each) => each),
      call.withResponse(),
    ]);
    expect([again, data]).toEqual([first, first]);
    expect(await call.all()).toEqual([1]);
    expect(stage.seen).toHaveLength(2);
  });

  test('sends nothing and fails nowhere if it is never used, also with an invalid request', async () => {
    await using stage = await Stage.open(problem(500, 'internal_error'));
    const client = stage.client();
    void client.queryCanonicalDocuments('', query);
    void client.queryCanonicalDocuments('t', query);
    await thrown(client.health(), APIStatusError);
    expect(stage.seen).toHaveLength(1);
  });

  test('starts with catch and finally too', async () => {
    await using stage = await Stage.open(page([1], null));
    const list = () => stage.client().queryCanonicalDocuments('t', query);
    expect(await list().finally(() => {})).toMatchObject({ items: [1] });
    expect(await list().catch(() => null)).toMatchObject({ items: [1] });
  });

  test('gives its first page unread by asResponse', async () => {
    await using stage = await Stage.open(page([1], null));
    const response = await stage.client().queryCanonicalDocuments('t', query).asResponse();
    expect(await response.json()).toEqual({ items: [1], continuationToken: null });
  });

  test('keeps its request and options although the caller changes the objects later', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], null));
    const request = { ...query, indexes: { status: 'open' } };
    const options = { headers: { 'x-note': 'first' } };
    const call = stage.client().queryCanonicalDocuments('t', request, options);
    request.indexes.status = 'closed';
    options.headers['x-note'] = 'second';
    for await (const _ of call.pages()) request.documentType = 'other';
    expect(sent(stage)).toEqual([
      { ...query, indexes: { status: 'open' } },
      { ...query, indexes: { status: 'open' }, continuationToken: 'a' },
    ]);
    expect(stage.seen.map(({ headers }) => headers['x-note'])).toEqual(['first', 'first']);
  });

  test('writes values with toJSON alike in every page', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], null));
    const from = { toJSON: () => 'written' };
    const odd = { ...query, indexes: { from } } as unknown as typeof query;
    await stage.client().queryCanonicalDocuments('t', odd).all();
    expect(sent(stage)).toMatchObject([{ indexes: { from: 'written' } }, { indexes: { from: 'written' } }]);
  });

  test('needs no request body where the operation requires none', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], null));
    expect(await stage.client().queryCanonicalOutbox('t').all()).toEqual([1, 2]);
    expect(sent(stage)).toEqual([{}, { continuationToken: 'a' }]);
  });

  test('can be read page by page', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([], null));
    const pages: unknown[] = [];
    for await (const each of stage.client().queryCanonicalDocuments('t', query).pages()) pages.push(each);
    expect(pages).toEqual([
      { items: [1], continuationToken: 'a' },
      { items: [], continuationToken: null },
    ]);
  });

  test('sends the options of the call with every page', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], null));
    await stage.client().queryCanonicalDocuments('t', query, { correlationId: 'job-7' }).all();
    expect(stage.seen.map(({ headers }) => headers['x-correlation-id'])).toEqual(['job-7', 'job-7']);
  });

  test('ends with the error of any of its pages', async () => {
    await using stage = await Stage.open(page([1], 'a'), problem(400, 'continuation_token_invalid'));
    const found: unknown[] = [];
    const error = await thrown(
      (async () => {
        for await (const item of stage.client().queryCanonicalDocuments('t', query)) found.push(item);
      })(),
      APIStatusError,
    );
    expect(error.code).toBe('continuation_token_invalid');
    expect(found).toEqual([1]);
  });

  test.each([null, 'text', 1, { items: {} }, { items: 'ab' }, { items: null }])(
    'has no page such as %j',
    async (odd) => {
      await using stage = await Stage.open(page([1], 'a'), json(odd));
      await thrown(stage.client().queryCanonicalDocuments('t', query).all(), APIResponseError);
    },
  );

  test('fails if its pages form a circle', async () => {
    await using stage = await Stage.open(page([1], 'a'));
    await thrown(stage.client().queryCanonicalDocuments('t', query).all(), APIResponseError);
    expect(stage.seen).toHaveLength(2);
  });

  test('fails if its pages form a circle of several pages', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], 'b'), page([3], 'c'), page([4], 'a'));
    const found: unknown[] = [];
    const error = await thrown(
      (async () => {
        for await (const each of stage.client().queryCanonicalDocuments('t', query).pages()) found.push(each);
      })(),
      APIResponseError,
    );
    expect(error.message).toContain('repeated');
    expect(found).toHaveLength(4);
    expect(stage.seen).toHaveLength(4);
  });

  test.each([
    ['queryCanonicalDocuments', { ...query, continuationToken: 'b' }],
    ['queryCanonicalOutbox', { continuationToken: 'b' }],
  ] as const)('fails if a page leads back to the first: %s', async (method, request) => {
    await using stage = await Stage.open(page([1], 'b'));
    const call = stage.client()[method]('t', request);
    await thrown(call.all(), APIResponseError);
    expect(stage.seen).toHaveLength(1);
  });

  test('may be iterated twice: each iteration counts its own tokens', async () => {
    await using stage = await Stage.open(page([1], 'a'), page([2], null), page([2], null));
    const call = stage.client().queryCanonicalDocuments('t', query);
    expect([await call.all(), await call.all()]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test('fails after too many empty pages', async () => {
    const empties = (name: string) => Array.from({ length: 999 }, (_, index) => page([], `${name}${index}`));
    const empty = empties('p');
    await using between = await Stage.open(...empty, page([1], 'more'), ...empties('q'), page([2], null));
    expect(await between.client().queryCanonicalDocuments('t', query).all()).toEqual([1, 2]);
    await using last = await Stage.open(...empty, page([], null));
    expect(await last.client().queryCanonicalDocuments('t', query).all()).toEqual([]);
    await using more = await Stage.open(...empty, page([], 'p999'), page([1], null));
    const refused = await thrown(more.client().queryCanonicalDocuments('t', query).all(), APIResponseError);
    expect(refused.message).toContain('1000 pages');
    expect(more.seen).toHaveLength(1000);
  });
});

describe('all entries of a list', () => {
  test('are at most the requested number', async () => {
    await using stage = await Stage.open(page([1, 2], 'a'), page([3, 4], 'b'));
    expect(await stage.client().queryCanonicalDocuments('t', query).all({ limit: 3 })).toEqual([1, 2, 3]);
    expect(stage.seen).toHaveLength(2);
  });

  test('request no more pages than they need', async () => {
    await using stage = await Stage.open(page([1, 2], 'a'));
    expect(await stage.client().queryCanonicalDocuments('t', query).all({ limit: 2 })).toEqual([1, 2]);
    expect(stage.seen).toHaveLength(1);
  });

  test('are never silently cut', async () => {
    const thousand = Array.from({ length: 1000 }, (_, index) => index);
    const pages = Array.from({ length: 10 }, (_, index) => page(thousand, `p${index}`));
    await using exact = await Stage.open(...pages, page([], null));
    expect(await exact.client().queryCanonicalDocuments('t').all()).toHaveLength(10_000);
    await using more = await Stage.open(...pages, page([1], null));
    const error = await thrown(more.client().queryCanonicalDocuments('t').all(), SvcError);
    expect(error.message).toContain('10000');
    await using asked = await Stage.open(...pages, page([1], null));
    expect(await asked.client().queryCanonicalDocuments('t').all({ limit: 20_000 })).toHaveLength(10_001);
  });

  test.each([0, -1, 1.5, Number.NaN])('refuse a limit of %d', async (limit) => {
    await using stage = await Stage.open(page([1], null));
    await thrown(stage.client().queryCanonicalDocuments('t').all({ limit }), SvcError);
  });
});

test('the types are those of the contract', async () => {
  await using stage = await Stage.open(page([], null));
  const call = stage.client().queryCanonicalDocuments('t');
  expectTypeOf(await call).toEqualTypeOf<CanonicalDocumentQueryResult>();
  expectTypeOf(await call.all()).toEqualTypeOf<CanonicalDocument[]>();
  for await (const item of call) expectTypeOf(item).toEqualTypeOf<CanonicalDocument>();
});
