import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { type JobTerms, jobResult } from './job-result.ts';

const nullable = new Set(['batchResult']);

function resultFor(view: JsonObject, terms: Partial<JobTerms> = {}) {
  const job = { view, text: JSON.stringify(view), path: '/jobs/a' };
  const result = jobResult(job, { lengthMax: 200_000, nullable, textContent: 'compact', ...terms });
  const texts = result.content.map((each) => (each as { readonly text: string }).text);
  return { ...result, texts, values: result.structuredContent as JsonObject };
}

const item = (at: number): JsonObject => ({ id: `n-${at}`, status: 'created', etag: 'x'.repeat(60) });
const batch = (count: number, more: JsonObject = {}): JsonObject => ({
  admission: { runId: 'a' },
  id: 'a',
  status: 'succeeded',
  requested: count,
  succeeded: count,
  failed: 0,
  batchResult: { collection: 'notes', items: Array.from({ length: count }, (_, at) => item(at)) },
  ...more,
});

describe('the text of a job', () => {
  test('is its JSON where that is short', () => {
    const view = batch(3);
    expect(resultFor(view)).toMatchObject({ texts: [JSON.stringify(view)], values: view, isError: false });
  });

  test('is short where the JSON is not, with a line for each item', () => {
    const view = batch(100);
    const { texts, values } = resultFor(view);
    expect(values).toEqual(view);
    const lines = texts[0]?.split('\n') ?? [];
    expect(texts).toHaveLength(1);
    expect(texts[0]?.length).toBeLessThan(4_200);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      id: 'a',
      status: 'succeeded',
      requested: 100,
      succeeded: 100,
      failed: 0,
    });
    expect(lines.slice(1, 4)).toEqual([
      'batchResult: {"collection":"notes"}',
      'batchResult.items: 100 items',
      `1. ${JSON.stringify(item(0))}`,
    ]);
    expect(lines.at(-1)).toBe(`The text has ${lines.length - 4} of these 100 items.`);
  });

  test('is the JSON for those that ask for it', () => {
    const view = batch(80);
    expect(resultFor(view, { textContent: 'full' }).texts).toEqual([JSON.stringify(view)]);
  });

  test('has no line break of a tenant and no long value', () => {
    const view = {
      handlerId: 'h',
      status: 'succeeded',
      result: { 'a\nb': [`c\nd${'x'.repeat(5_000)}`], ['y'.repeat(5_000)]: {} },
    };
    const [text = ''] = resultFor(view).texts;
    expect(text.length).toBeLessThan(4_200);
    expect(text.split('\n').slice(1, 3)).toEqual(['result: {}', 'result."a\\nb": 1 items']);
  });
});

describe('a long job', () => {
  test.each(['compact', 'full'] as const)(
    'of a batch fits 25,000 characters with the text %s',
    (textContent) => {
      const view = batch(900);
      const { texts, values, _meta } = resultFor(view, { textContent });
      expect(JSON.stringify(values).length + JSON.stringify(texts[0]).length).toBeLessThanOrEqual(25_000);
      const { items } = values['batchResult'] as { readonly items: readonly JsonObject[] };
      expect(items).toEqual(Array.from({ length: items.length }, (_, at) => item(at)));
      expect(items.length).toBeGreaterThan(50);
      const shortened = [{ list: '/batchResult/items', shown: items.length, count: 900 }];
      const note = { omitted: [], shortened, wholeAt: '/jobs/a', length: JSON.stringify(view).length };
      expect(JSON.parse(texts.at(-2) ?? '')).toEqual(note);
      expect(texts.at(-1)).toBe('The whole job: svc_execution_get_run_v1 with "runId": "a".');
      expect(_meta).toMatchObject({ 'svc.runtime/omitted': note });
    },
  );

  test('fits with texts that escapes lengthen', () => {
    const quotes = { id: '"'.repeat(90), status: 'created' };
    for (let count = 40; count < 200; count += 7)
      for (const textContent of ['compact', 'full'] as const) {
        const view = batch(1, {
          batchResult: { items: Array.from({ length: count }, () => quotes), more: [1, 2] },
        });
        const { texts, values } = resultFor(view, { textContent });
        expect(JSON.stringify(values).length + JSON.stringify(texts[0]).length).toBeLessThanOrEqual(25_000);
        const { items, more } = values['batchResult'] as {
          items: readonly unknown[];
          more: readonly number[];
        };
        expect([items.length > 20, more]).toEqual([true, [1, 2]]);
      }
  });

  test('of few items that are too long keeps them, up to the bound of results', () => {
    const items = [{ id: 'x'.repeat(30_000) }, { id: 'y' }];
    const { values } = resultFor(batch(2, { batchResult: { items } }));
    expect(values['batchResult']).toEqual({ items: items.slice(0, 1) });
  });

  test('of a run keeps its lists up to the bound of results', () => {
    const view = {
      handlerId: 'h',
      status: 'succeeded',
      result: Array.from({ length: 9_000 }, (_, at) => at),
    };
    expect(resultFor(view).values).toEqual(view);
  });
});

test.each<[name: string, more: JsonObject, isError: boolean]>([
  ['none of its items', { succeeded: 0, failed: 3 }, true],
  ['one of its items', { succeeded: 1, failed: 2 }, false],
  ['nothing of nothing', { succeeded: 0, failed: 0, requested: 0 }, false],
  ['the items of a handler', { succeeded: 0, failed: 3, handlerId: 'h' }, false],
])('a job that wrote %s', (_, more, isError) => {
  const { texts, ...result } = resultFor(batch(3, more));
  expect(result.isError).toBe(isError);
  expect(texts.slice(1)).toEqual(
    isError
      ? [
          'Nothing was written: of the items, 0 succeeded and 3 failed. The items of the result name the reasons.',
        ]
      : [],
  );
});

test.each<[status: string, error: string | null, words: readonly string[]]>([
  ['failed', "Collection 'nots' does not exist.", ["Failed: Collection 'nots' does not exist."]],
  ['rejected', 'The queue\r\nis\u202e full.', ['Rejected: The queue is full.']],
  ['timed_out', null, ['Timed out.']],
  ['TimedOut', 'x'.repeat(900), [`Timed out: ${'x'.repeat(500)}`]],
  ['succeeded', null, []],
  ['constructor', null, []],
])('a job that ends as %s with the error %j says so in a text of its own', (status, error, words) => {
  expect(resultFor(batch(3, { status, error })).texts.slice(1)).toEqual(words);
});
