import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { finished } from '../../kernel/turns.ts';
import type { Incarnation } from '../rules/incarnation.ts';
import { readPolicy } from '../rules/policy.ts';
import { readRecord } from '../rules/record-text.fixture.ts';
import { findableRecord, recordData, storedSearch } from '../stored-record.ts';
import { newestFormat } from './formats.ts';

const TIME = '2026-01-01T00:00:00.000Z';
const policy = readPolicy({
  name: 'c',
  vectorPolicies: [
    { name: 'body', path: '/vectors/body/values', dimensions: 3 },
    { name: 'title', path: '/vectors/title/values', dimensions: 3, distanceFunction: 'euclidean' },
  ],
});
const into = { incarnation: 'a'.repeat(32) as Incarnation, policy };
const words = Array.from({ length: 5_000 }, (_, n) => `word${n * 7}s`).join(' ');

const texts: readonly string[] = [
  '{"id":"a","partitionKey":"p"}',
  '{"id":"b","partitionKey":"p q","type":"Note","content":{"text":"Straße, ΣΑΣ naïve 😀 İx","n":1.50},"metadata":{"ok":true,"no":null}}',
  '{"id":"c","partitionKey":"p","vectors":{"body":{"values":[1,-0,0.1]},"title":{"values":[0,0,0],"distanceFunction":"euclidean"}}}',
  JSON.stringify({ id: 'd', partitionKey: 'p', content: words }),
];

const stored = texts.map((text) => {
  const record = finished(findableRecord(into, readRecord(text, policy), newestFormat()));
  const stamp = { revision: 1, etag: 'rev:1', createdAt: TIME, updatedAt: TIME };
  return { record, data: recordData(into, record, stamp) };
});

test('entries change with their version alone: add a format with the next version where this fails', () => {
  const entries = stored.map(({ record: { search } }) => {
    const { entry, termsLeftOut } = search;
    const vectors = entry.vectors.map(({ values, ...slot }) => ({ ...slot, values: [...values] }));
    const counts = entry.wordCounts && { ...entry.wordCounts, codes: [...entry.wordCounts.codes] };
    return hash('sha256', JSON.stringify({ ...entry, vectors, wordCounts: counts, termsLeftOut })).slice(
      0,
      16,
    );
  });
  expect([newestFormat().version, entries]).toEqual([
    1,
    ['2f1160e36ba9cc0f', 'a76faf8e3f60df12', '034525efaaeb568c', '682cb45b8b337af5'],
  ]);
});

test('the entry of a stored record is the one that its writer made', () => {
  for (const { record, data } of stored)
    expect(finished(storedSearch(into, data, newestFormat()))).toEqual(record.search);
});

test('the head of a record says how many terms were left out', () => {
  const heads = stored.map(({ data }) => data.head['termsLeftOut']);
  expect(heads).toEqual([undefined, undefined, undefined, stored[3]?.record.search.termsLeftOut]);
  expect(stored[3]?.record.search.termsLeftOut).toBeGreaterThan(0);
});
