import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programOf, Reader } from './guides.ts';
import { root } from './program.ts';

/** Every request of docs/searching.md is sent to a real service, which gives the answers of the page. */

interface Example {
  readonly request: object;
  readonly answer: object;
}

const page = await readFile(join(root, 'docs/searching.md'), 'utf8');
const examples = examplesOf(page);

/** The JSON blocks of a page in pairs: a request, and the part of its answer that is shown. */
function examplesOf(text: string): readonly Example[] {
  const blocks = [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(
    ([, block = '']) => JSON.parse(block) as object,
  );
  expect(blocks.length % 2, 'a request without an answer').toBe(0);
  return blocks.flatMap((request, at) => (at % 2 === 0 ? [{ request, answer: blocks[at + 1] ?? {} }] : []));
}

let reader: Reader;
beforeAll(async () => {
  reader = await Reader.start();
  const { code, stderr } = await reader.run(programOf(page, 'sh'), 'sh');
  expect([code, stderr], 'the records of the examples').toEqual([0, '']);
});
afterAll(() => reader[Symbol.asyncDispose]());

async function answerTo(request: object): Promise<object> {
  const answer = await fetch(`${reader.address}/collections/recipes/search`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(request),
  });
  return (await answer.json()) as object;
}

test('the page has an example for each kind of search', () => {
  const asked = examples.flatMap(({ request }) => Object.keys(request));
  expect(new Set(asked)).toEqual(new Set(['lexical', 'vector', 'filter', 'partitionKeys', 'limit']));
});

test.each(examples)('answers $request', async ({ request, answer }) => {
  expect(await answerTo(request)).toMatchObject(answer);
});

describe('the check itself', () => {
  const request = { lexical: { query: '"roast tomatoes"' } };
  const wrong: readonly [string, object][] = [
    ['another record', { items: [{ record: { id: 'curry' } }] }],
    ['another score', { items: [{ score: 0.5 }] }],
    ['a match too few', { items: [] }],
  ];

  test.each(wrong)('finds %s', async (_, answer) => {
    const found = await answerTo(request);
    expect(() => expect(found).toMatchObject(answer)).toThrow('match object');
  });
});
