import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { type AskedAnswer, mappedResult, termsFor } from './mapped-result.ts';
import type { ToolMap } from './tool-map.ts';

const map: ToolMap = {
  takes: {},
  advanced: {},
  defaults: {},
  isList: false,
  answer: {
    items: 'items',
    line: ['id', 'score', 'content/text'],
    include: { vectors: ['items/*/vectors'], diagnostics: ['items/*/why', 'trace'] },
    texts: { paths: ['items/*/content'], most: 40 },
  },
};

const terms = { lengthMax: 200_000, textContent: 'compact' } as const;

/** A hit with a vector of 384 numbers and a text of 800 characters. */
function hit(at: number): JsonObject {
  const values = Array.from({ length: 384 }, (_, index) => (index % 7) / 10);
  return {
    id: `h-${at}`,
    score: 1 - at / 100,
    content: { text: 'word '.repeat(160) },
    vectors: { values },
    why: 'x',
  };
}

function hits(count: number, more: JsonObject = {}): string {
  const items = Array.from({ length: count }, (_, at) => hit(at));
  return JSON.stringify({ items, trace: { id: 't' }, continuationToken: null, ...more });
}

function resultFor(
  text: string,
  more: Partial<AskedAnswer> = {},
  of = map,
  within: typeof terms | { lengthMax: number; textContent: 'full' } = terms,
) {
  const result = mappedResult(
    of,
    { operationId: 'searchRecords', text, include: [], offset: null, ...more },
    within,
  );
  const [first] = result.content as readonly { readonly text: string }[];
  return {
    result,
    shown: result.structuredContent as {
      readonly [name: string]: Json;
      readonly items: readonly JsonObject[];
    },
    text: first?.text ?? '',
  };
}

describe('the answer of a tool', () => {
  test('has vectors, diagnostics and whole texts only where they are asked for', () => {
    const { shown } = resultFor(hits(1));
    expect(shown).toEqual({
      items: [{ id: 'h-0', score: 1, content: { text: `${'word '.repeat(8)}…` } }],
      continuationToken: null,
    });
    const asked = resultFor(hits(1), { include: ['vectors', 'diagnostics', 'texts'] }).shown;
    expect(asked).toEqual(JSON.parse(hits(1)));
  });

  test('wraps a list', () => {
    const list = { ...map, isList: true, answer: {} };
    expect(resultFor('["a","b"]', {}, list).shown).toEqual({ items: ['a', 'b'] });
    expect(resultFor('[]', {}, list).text).toBe('{"items":[]}');
  });

  test('of ten hits with vectors is small', () => {
    expect(JSON.stringify(resultFor(hits(10)).result).length).toBeLessThanOrEqual(12_000);
  });

  test('never has more than 25,000 characters, and ends at an item', () => {
    const { result, shown, text } = resultFor(hits(1_000, { continuationToken: 'next' }), {
      include: ['texts'],
    });
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(25_000);
    const { nextOffset, items } = shown;
    expect(nextOffset).toBe(items.length);
    expect(items.at(-1)).toHaveProperty('content');
    // The token would skip the items that are left.
    expect(shown).not.toHaveProperty('continuationToken');
    expect(text.split('\n').at(-1)).toBe(
      `${items.length} of 1000 items so far. To go on: the same arguments with "answerOffset": ${items.length}. If records change meanwhile, items may repeat or be missing.`,
    );
  });

  test('comes whole in several calls', () => {
    const all: unknown[] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const { shown } = resultFor(hits(100, { continuationToken: 'next' }), { offset });
      all.push(...shown.items.map(({ id }) => id));
      offset = (shown['nextOffset'] as number | undefined) ?? null;
      expect('continuationToken' in shown).toBe(offset === null);
    }
    expect(all).toEqual(Array.from({ length: 100 }, (_, at) => `h-${at}`));
  });

  test('shortens an item that is too long alone, and says so', () => {
    const long = { id: 'a', score: 1, content: { text: 'x'.repeat(30_000) }, other: 'y'.repeat(30_000) };
    const text = JSON.stringify({ items: [long, hit(1)], continuationToken: null });
    const answer = resultFor(text, { include: ['texts'] });
    expect(answer.shown.items).toEqual([{ id: 'a', score: 1, content: { text: `${'x'.repeat(10_000)}…` } }]);
    expect(answer.shown).toMatchObject({ nextOffset: 1, shortened: true });
    expect(answer.text).toContain('too long for a list');
  });

  test('cuts a long value as little as it needs, and names the tool that has it whole', () => {
    const of = {
      ...map,
      answer: {
        ...map.answer,
        line: ['id', 'content'],
        include: { b: ['items/*/b'] },
        whole: 'svc_a_get_v1',
      },
    };
    const long = { id: 'a', content: { title: 't', text: 'x'.repeat(30_000) }, b: ['y'.repeat(30_000)] };
    const { shown, text, result } = resultFor(
      JSON.stringify({ items: [long] }),
      { include: ['texts', 'b'] },
      of,
    );
    const [item] = shown.items as readonly { content: { title: string; text: string }; b: string[] }[];
    expect(item?.content).toMatchObject({ title: 't', text: expect.stringMatching(/^x{2500,}…$/) as string });
    expect(item?.b).toEqual([expect.stringMatching(/^y{2500,}…$/)]);
    expect(text).toMatch(/cut or left out\. svc_a_get_v1 has all of it\.$/);
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(25_000);
  });

  test('says of excerpts how to have the texts whole', () => {
    const words = 'Texts that end with … are excerpts: "include": ["texts"] has them whole.';
    expect(resultFor(hits(2)).result.content[1]?.text).toBe(words);
    expect(resultFor(hits(50)).text).toContain(words);
    for (const include of [['texts'], []]) {
      const answer = include.length > 0 ? hits(2) : '{"items":[{"id":"a","content":{"text":"b"}}]}';
      expect(JSON.stringify(resultFor(answer, { include }).result.content)).not.toContain('excerpts');
    }
  });

  test('refuses an offset after the last item', () => {
    expect(() => resultFor(hits(2), { offset: 3 })).toThrow(
      '/answerOffset: is after the last item: the answer has 2',
    );
    expect(resultFor(hits(2), { offset: 2 }).shown.items).toEqual([]);
  });
});

describe('the text of an answer', () => {
  test('has the parts that the caller asks for', () => {
    const asked = hits(3, { trace: { id: 't-1' } });
    const lines = resultFor(asked, { include: ['vectors', 'diagnostics', 'texts'] }).text.split('\n');
    const text = JSON.stringify('word '.repeat(160));
    const vectors = JSON.stringify(hit(1)['vectors']);
    expect(lines[1]).toBe(`2. id="h-1" score=0.99 text=${text} vectors=${vectors} why="x"`);
    expect(lines[3]).toBe('trace={"id":"t-1"}');
    expect(resultFor(hits(50, { trace: { id: 't-1' } })).text).not.toMatch(/vectors=|why=|trace=/);
  });

  test('is JSON below 4,000 characters, and where the service is set to it', () => {
    const short = resultFor(hits(2));
    expect(JSON.parse(short.text)).toEqual(short.shown);
    const full = resultFor(hits(50), {}, map, { lengthMax: 200_000, textContent: 'full' });
    expect(JSON.parse(full.text)).toEqual(full.shown);
  });

  test('is one line for each item, and then how to go on', () => {
    const { text } = resultFor(hits(60, { continuationToken: 'a "b"' }));
    const lines = text.split('\n');
    expect(lines).toHaveLength(62);
    expect(lines[1]).toBe(`2. id="h-1" score=0.99 text="${'word '.repeat(8)}…"`);
    expect(lines[61]).toBe(
      'There may be more. To go on: the same arguments with "continuationToken": "a \\"b\\"".',
    );
  });

  test('of the last part of a page starts the next page without an offset', () => {
    const long = { lengthMax: 2_000, textContent: 'full' } as const;
    const last = resultFor(hits(3, { continuationToken: 'a' }), { offset: 2 });
    const words = 'the same arguments with "continuationToken": "a", "answerOffset": 0.';
    expect(last.text).toContain(words);
    const asked = { offset: 2, include: ['texts'] };
    const full = resultFor(hits(3, { continuationToken: 'a' }), asked, map, long);
    expect(full.result.content.map(({ text }) => text)).toEqual([
      JSON.stringify(full.shown),
      `There may be more. To go on: ${words}`,
    ]);
  });

  test('says in words beside JSON that the list or its item is not whole', () => {
    const within = { lengthMax: 2_000, textContent: 'full' } as const;
    const wordsOf = (text: string) => resultFor(text, { include: ['texts'] }, map, within).result.content[1];
    expect(wordsOf(hits(9))?.text).toMatch(/^\d of 9 items so far\. To go on: /);
    const long = JSON.stringify({ items: [{ id: 'a', content: { text: 'x'.repeat(9_000) } }] });
    expect(wordsOf(long)?.text).toMatch(/^The item is too long/);
  });

  test('alone has the room that the values do not need', () => {
    const full = { lengthMax: 200_000, textContent: 'full' } as const;
    const sizes = [full, termsFor(full, '2025-03-26')].map(
      (within) => resultFor(hits(200), { include: ['texts'] }, map, within).shown.items.length,
    );
    expect(sizes[1]).toBeGreaterThanOrEqual(1.8 * (sizes[0] ?? 0));
  });

  test('keeps a text of a tenant to its line', () => {
    const hostile = { id: 'a\n2. id="b"', score: 1, content: {} };
    const items = [hostile, ...Array.from({ length: 60 }, (_, at) => hit(at))];
    const { text } = resultFor(JSON.stringify({ items, continuationToken: null }));
    expect(text.split('\n')[0]).toBe('1. id="a\\n2. id=\\"b\\"" score=1');
  });
});
