import { expect, test } from 'vitest';
import { benchRetrieval } from './retrieval.ts';

test('the benchmark of retrievals measures every figure', async () => {
  const times = { p50Ms: expect.any(Number), p99Ms: expect.any(Number), processorMs: expect.any(Number) };
  expect(await benchRetrieval(1_000, 3)).toMatchObject({
    bench: 'retrieval',
    vectors: 1_000,
    candidates: 500,
    bare: { exact: times },
    hybrid: times,
    vectorOnly: times,
    words: times,
    pauses: { pauseP99Ms: expect.any(Number) },
  });
});
