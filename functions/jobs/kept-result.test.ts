import { expect, test, vi } from 'vitest';
import { ServiceError } from '../kernel/errors.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';
import { keepResult, keptResults } from './kept-result.ts';

const MIB = 1024 * 1024;
const jobs = { runtime: { store: () => Promise.reject(new Error('nothing is read')) } } as unknown as Jobs;
const runs = (results: readonly unknown[]) => results.map((json) => ({ result: { json } }) as unknown as Run);

test.each([
  { bytes: [5, 3], shown: 2 },
  { bytes: [5, 4], shown: 1 },
  { bytes: [9, 1], shown: 1 },
  { bytes: [1, 0, 7, 1], shown: 3 },
])('results of $bytes MiB: an answer has the first $shown', async ({ bytes, shown }) => {
  const results = bytes.map((mib) => ({ parts: 1, bytes: mib * MIB }));
  const inParts = vi.fn(() => Promise.resolve('whole'));
  const found = await keptResults(jobs, runs(results), { inParts });
  expect(found).toEqual(Array.from({ length: shown }, () => 'whole'));
  expect(inParts).toHaveBeenCalledTimes(shown);
});

test('a result that the run holds is answered as it is, also one that says bytes', async () => {
  const results = [{ bytes: 20 * MIB }, null, 'text', { bytes: 20 * MIB }];
  expect(await keptResults(jobs, runs(results), {})).toEqual(results);
});

const noPlace = new ServiceError('limit_exceeded', 'There is no place for large artifacts.');
const context = (refusal: ServiceError | null) =>
  ({
    putArtifact: () => (refusal === null ? Promise.resolve() : Promise.reject(refusal)),
  }) as unknown as JobContext;
const LARGE = { text: 'more than ten bytes' };
const JSON_BYTES = JSON.stringify(LARGE).length;
const parts = () => Promise.resolve(3);

test.each([
  { otherwise: 'remade', place: true, held: { artifact: 'n' } },
  { otherwise: 'remade', place: false, held: { artifact: 'n' } },
  { otherwise: 'refused', place: true, held: { artifact: 'n' } },
  { otherwise: parts, place: true, held: { artifact: 'n', bytes: JSON_BYTES } },
  { otherwise: parts, place: false, held: { parts: 3, bytes: JSON_BYTES } },
] as const)('of a large result the run holds $held', async ({ otherwise, place, held }) => {
  const given = { resultBytesMax: 10, otherwise };
  expect(await keepResult(context(place ? null : noPlace), 'n', LARGE, given)).toEqual(held);
});

test.each(['remade', 'refused', parts] as const)('a small result needs no place', async (otherwise) => {
  expect(await keepResult(context(noPlace), 'n', { a: 1 }, { resultBytesMax: 10, otherwise })).toEqual({
    a: 1,
  });
});

test('a large result that no view makes again is refused without a place', async () => {
  const kept = keepResult(context(noPlace), 'n', LARGE, { resultBytesMax: 10, otherwise: 'refused' });
  await expect(kept).rejects.toBe(noPlace);
});

test('another failure of the place is no reason to hold less', async () => {
  const away = new ServiceError('unavailable', 'The place is away.');
  const kept = keepResult(context(away), 'n', { a: 1 }, { resultBytesMax: 10, otherwise: 'remade' });
  await expect(kept).rejects.toBe(away);
});
