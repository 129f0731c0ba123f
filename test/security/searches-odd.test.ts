import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';
import { RecordSpace } from './record-space.ts';

/** Searches over HTTP that look wrong, and have an answer. */

interface Match {
  readonly record: { readonly id: string };
  readonly score: number;
}

let service: RunningService;
let space: RecordSpace;
const IDS = ['a', 'b', 'c', 'd'];
beforeAll(async () => {
  service = await startService();
  space = new RecordSpace(service.call);
  const vectorPolicies = ['v', 'w'].map((name) => ({ name, path: `/vectors/${name}/values`, dimensions: 3 }));
  await space.create({ name: 'docs', vectorPolicies });
  const texts = ['שלום עולם word', 'e\u0301tude word', 'étude', 'the of to'];
  for (const [at, id] of IDS.entries()) {
    const vectors = { v: { values: [1, 1, 1] } };
    const record = { id, partitionKey: 'p', content: { text: texts[at] }, vectors };
    const { status, text } = await space.send('POST', '/collections/docs/records', record);
    expect(status, text).toBe(201);
  }
});
afterAll(() => service.close());

const send = (body: object) => space.send('POST', '/collections/docs/search', body);
const words = (query: string, more: object = {}) => ({ lexical: { query, ...more } });
const near = (value: readonly number[], more: object = {}) => ({ vector: { field: 'v', value, ...more } });
const token = (text: string) => ({ continuationToken: Buffer.from(text).toString('base64') });

async function found(body: object): Promise<readonly Match[]> {
  const { status, text } = await send(body);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { items: readonly Match[] }).items;
}

const idsOf = async (body: object) => (await found(body)).map(({ record }) => record.id);

test('frequent words alone are words', async () => {
  expect(await idsOf(words('the of to'))).toEqual(['d']);
  expect((await idsOf(words('the word'))).toSorted()).toEqual(['a', 'b']);
});

test('marks without words are found as they stand, which is nowhere here', async () => {
  expect(await idsOf(words('?!'))).toEqual([]);
});

test('a quote without its partner is white space', async () => {
  expect((await idsOf(words('"word'))).toSorted()).toEqual(['a', 'b']);
  expect(await idsOf(words('"" """ "'))).toEqual([]);
  expect(await idsOf(words('"עולם word" "'))).toEqual(['a']);
});

test('text that runs from right to left is found by its words and phrases', async () => {
  expect(await idsOf(words('עולם'))).toEqual(['a']);
  expect(await idsOf(words('"שלום עולם"'))).toEqual(['a']);
  expect(await idsOf(words('\u202eעולם\u202c'))).toEqual(['a']);
});

test('combined and precomposed letters are different texts, and neither is lost', async () => {
  expect(await idsOf(words('étude'))).toEqual(['c']);
  expect(await idsOf(words('"e\u0301tude"'))).toEqual(['b']);
});

test('a prefix of one letter reads all records, and matches the words that begin with it', async () => {
  const prefix = { prefixMatching: true, prefixMinChars: 1 };
  expect((await idsOf(words('w', prefix))).toSorted()).toEqual(['a', 'b']);
  expect(await idsOf(words('w', { ...prefix, prefixMinChars: 10 ** 9 }))).toEqual([]);
});

test('a top of 10^9 answers all that there is', async () => {
  expect((await idsOf(words('word', { top: 1e9, scanLimit: 1e9 }))).toSorted()).toEqual(['a', 'b']);
  expect(await idsOf(near([1, 1, 1], { top: 1e9 }))).toEqual(IDS);
});

test('equal vectors follow in the order of their ids, also from page to page', async () => {
  const all = await found(near([3, 3, 3]));
  expect(new Set(all.map(({ score }) => score))).toEqual(new Set([1]));
  expect(all.map(({ record }) => record.id)).toEqual(IDS);
  expect(await idsOf({ ...near([3, 3, 3]), limit: 2, ...token('1') })).toEqual(['b', 'c']);
  expect(await idsOf(near([3, 3, 3], { top: 2 }))).toEqual(['a', 'b']);
});

test('a zero vector is like none', async () => {
  for (const value of [
    [0, 0, 0],
    [-0, 0, 0],
    [1e-46, 0, 0],
  ]) {
    const all = await found(near(value));
    expect(all.map(({ record, score }) => [record.id, score])).toEqual(IDS.map((id) => [id, 0]));
  }
});

test('a vector that no record has finds none', async () => {
  expect(await idsOf({ vector: { field: 'w', value: [1, 1, 1] } })).toEqual([]);
});

test('the token of another search is a place in this one, and one behind its end is an empty last page', async () => {
  expect(await idsOf({ ...words('word'), ...token('1') })).toHaveLength(1);
  const { status, text } = await send({ ...words('word'), ...token('1000000') });
  expect([status, JSON.parse(text)]).toEqual([200, { items: [], continuationToken: null }]);
});
