import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { measureBare } from './search-bare.ts';
import { SearchTexts } from './search-data.ts';
import { measureSqlite } from './search-own.ts';
import { recallOf } from './search-task.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('the benchmark of searches measures every figure, and all answers are those of brute force', async () => {
  const places = { folder, nearestFile: join(folder, 'nearest.json'), peers: folder };
  const task = { vectors: 1000, queries: 4, singles: 3, ...places };
  expect(await measureBare(task)).toMatchObject({ bytesPerRow: 1536 });
  const times = { p50Ms: expect.any(Number), p99Ms: expect.any(Number), processorMs: expect.any(Number) };
  expect(await measureSqlite(task)).toMatchObject({
    write: { upsertsPerSecond: expect.any(Number), batchP50Ms: expect.any(Number) },
    load: { rowsPerSecond: expect.any(Number), pauseMaxMs: expect.any(Number) },
    exact: { ...times, recall: 1 },
    filteredOnePercent: times,
    lexical: { candidates5Percent: times, candidatesHalfPercent: times },
    pauses: { pauseP99Ms: expect.any(Number) },
    single: times,
  });
});

test('recall counts the places that hold one of the nearest', () => {
  expect(recallOf([[1, 2]], [[2, 3]], 2)).toBe(0.5);
  expect(recallOf([[2, 3]], [[2, 3]], 2)).toBe(1);
  expect(recallOf([[2, 2]], [[2, 3]], 2)).toBe(0.5);
});

test('records that tie for the last place are equally near', () => {
  const tied = [[2, 3, 4]];
  expect(recallOf([[2, 4]], tied, 2)).toBe(1);
  expect(recallOf([[2, 5]], tied, 2)).toBe(0.5);
  expect(recallOf([[2]], tied, 2)).toBe(0.5);
});

test('about as many texts as the share says hold a word of a query', () => {
  const texts = new SearchTexts();
  const words = texts.query(0.05, 3).split(' ');
  const count = 2000;
  let holding = 0;
  for (let record = 0; record < count; record += 1) {
    const held = new Set(texts.of(record).split(' '));
    if (words.some((word) => held.has(word))) holding += 1;
  }
  expect(holding / count).toBeGreaterThan(0.04);
  expect(holding / count).toBeLessThan(0.06);
});
