import { describe, expect, expectTypeOf, test } from 'vitest';
import { APIResponseError, type ExecutionRun } from '../src/index.ts';
import { nextQuery } from '../src/link.ts';
import { hangUp, json, ManualTime, problem, Stage, thrown } from './stage.ts';

const page = (ids: readonly string[], next?: string) =>
  json(
    ids.map((id) => ({ id })),
    200,
    next === undefined ? {} : { link: `</execution/runs?${next}>; rel="next"`, 'svc-truncated': 'true' },
  );
const targets = (stage: Stage) => stage.seen.map(({ target }) => target);

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('a list that names its next page in Link', () => {
  test('gives the entries of all pages', async () => {
    await using stage = await Stage.open(
      page(['1', '2'], 'status=failed&limit=2&continuationToken=a%2Fb'),
      page([], 'continuationToken=c'),
      page(['3']),
    );
    const runs = stage.client().listExecutionRuns({ status: 'failed', limit: 2 });
    expectTypeOf(runs.items()).toEqualTypeOf<AsyncGenerator<ExecutionRun, void, undefined>>();
    expect((await collected(runs.items())).map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect(targets(stage)).toEqual([
      '/execution/runs?status=failed&limit=2',
      '/execution/runs?status=failed&limit=2&continuationToken=a%2Fb',
      '/execution/runs?continuationToken=c',
    ]);
  });

  test('of a method without parameters goes on too: the ledger of migrations', async () => {
    const ledger = (ids: readonly string[], next?: string) =>
      json(
        ids.map((id) => ({ id })),
        200,
        next === undefined ? {} : { link: `</canonical/migrations?${next}>; rel="next"` },
      );
    await using stage = await Stage.open(ledger(['1'], 'continuationToken=a'), ledger(['2']));
    const found = await collected(stage.client().listCanonicalMigrations().items());
    expect(found.map(({ id }) => id)).toEqual(['1', '2']);
    expect(targets(stage)).toEqual(['/canonical/migrations', '/canonical/migrations?continuationToken=a']);
  });

  test('gives its first page when it is awaited', async () => {
    await using stage = await Stage.open(page(['1'], 'continuationToken=a'));
    expect(await stage.client().listExecutionRuns()).toEqual([{ id: '1' }]);
    expect(stage.seen).toHaveLength(1);
  });

  test('requests a page only after the entries of the page before are read, with the retries and headers of the call', async () => {
    const named = page(['2'], 'continuationToken=b');
    await using stage = await Stage.open(page(['1'], 'continuationToken=a'), hangUp, named);
    const world = new ManualTime();
    const call = stage.client({ world }).listExecutionRuns({}, { headers: { 'X-Own': 'x' } });
    const pages = call.pages();
    expect((await pages.next()).value).toEqual([{ id: '1' }]);
    expect(stage.seen).toHaveLength(1);
    const second = pages.next();
    await world.pass(500);
    expect((await second).value).toEqual([{ id: '2' }]);
    expect(stage.seen.map(({ headers }) => headers['x-own'])).toEqual(['x', 'x', 'x']);
  });

  test('stays at its own service and path, also where the link names another', async () => {
    const away = json([{ id: '1' }], 200, {
      link: '<https://other.example/x?continuationToken=a>; rel=next',
    });
    await using stage = await Stage.open(away, page(['2']));
    const call = stage.client({ apiKey: 'k' }).getExecutionRunHistory('r');
    expect(await collected(call.items())).toHaveLength(2);
    expect(targets(stage)).toEqual([
      '/execution/runs/r/history',
      '/execution/runs/r/history?continuationToken=a',
    ]);
  });

  test('that does not end is an error', async () => {
    await using same = await Stage.open(page(['1'], 'continuationToken=a'));
    await thrown(collected(same.client().listExecutionRuns().items()), APIResponseError);
    expect(same.seen).toHaveLength(2);
    let at = 0;
    await using empty = await Stage.open((response, request) =>
      page([], `continuationToken=${(at += 1)}`)(response, request),
    );
    await thrown(collected(empty.client().listExecutionRuns().items()), APIResponseError);
    expect(empty.seen).toHaveLength(1000);
  });

  test('fails with a refusal of a later page, and with a page that is no list', async () => {
    const first = page(['1'], 'continuationToken=a');
    await using stage = await Stage.open(first, problem(400, 'continuation_token_invalid'), first, json({}));
    const error = await thrown(collected(stage.client().listExecutionRuns().items()), Error);
    expect(error).toMatchObject({ code: 'continuation_token_invalid' });
    await thrown(collected(stage.client().listExecutionRuns().items()), APIResponseError);
  });

  test('any other call has one page', async () => {
    await using stage = await Stage.open(json({ status: 'ok' }));
    expect(await collected(stage.client().health().pages())).toEqual([{ status: 'ok' }]);
  });
});

test.each([
  ['</a?x=1>; rel="next"', 'x=1'],
  ['</a?x=1>;rel=next', 'x=1'],
  ['</b>; rel="prev", </a?x=1#f>; title="a, b"; rel="last next"', 'x=1'],
  ['</a?x=1>; rel="prev"', null],
  ['</a>; rel="next"', null],
  ['?x=1', null],
  ['', null],
])('%s names %s', (text, query) => {
  expect(nextQuery(new Headers({ link: text }))).toBe(query);
});
