import { expect, test } from 'vitest';
import { CopyGate } from './copy-gate.ts';

const here = new AbortController().signal;

/** Work that the test ends. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test('two copies work at once, eight wait, and one more is asked to come back', async () => {
  const gate = new CopyGate();
  const jobs = Array.from({ length: 10 }, held);
  const begun: number[] = [];
  const runs = jobs.map(({ work }, n) =>
    gate.run(here, () => {
      begun.push(n);
      return work();
    }),
  );
  expect(begun).toEqual([0, 1]);
  await expect(gate.run(here, async () => 'no')).rejects.toMatchObject({
    code: 'unavailable',
    extensions: { retryAfterSeconds: 5 },
  });
  jobs[1]?.end();
  await runs[1];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const { end } of jobs) end();
  await Promise.all(runs);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(await gate.run(here, async () => 'free again')).toBe('free again');
});

test('who goes while waiting leaves the line, and a failure gives its place on', async () => {
  const gate = new CopyGate();
  const failing = Promise.withResolvers<void>();
  const other = held();
  const first = gate.run(here, () => failing.promise);
  const second = gate.run(here, other.work);
  const gone = new AbortController();
  const third = gate.run(gone.signal, async () => 'never');
  const fourth = gate.run(here, async () => 'fourth');
  gone.abort(new Error('gone'));
  await expect(third).rejects.toThrow('gone');
  failing.reject(new Error('failed'));
  await expect(first).rejects.toThrow('failed');
  expect(await fourth).toBe('fourth');
  other.end();
  await second;
});
