import { expect, test } from 'vitest';
import { CopyGate } from './copy-gate.ts';

const here = new AbortController().signal;

/** Work that the test ends. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test('two copies work at once, sixteen wait, and one more is asked to come back', async () => {
  const gate = new CopyGate();
  const jobs = Array.from({ length: 18 }, held);
  const begun: number[] = [];
  const runs = jobs.map(({ work }, n) =>
    gate.run(`tenant ${n}`, here, () => {
      begun.push(n);
      return work();
    }),
  );
  expect(begun).toEqual([0, 1]);
  await expect(gate.run('another', here, async () => 'no')).rejects.toMatchObject({
    code: 'unavailable',
    extensions: { retryAfterSeconds: 5 },
  });
  jobs[1]?.end();
  await runs[1];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const { end } of jobs) end();
  await Promise.all(runs);
  expect(begun).toEqual(jobs.map((_, n) => n));
  expect(await gate.run('another', here, async () => 'free again')).toBe('free again');
});

test('who goes while waiting leaves the line, and a failure gives its place on', async () => {
  const gate = new CopyGate();
  const failing = Promise.withResolvers<void>();
  const other = held();
  const first = gate.run('1', here, () => failing.promise);
  const second = gate.run('2', here, other.work);
  const gone = new AbortController();
  const third = gate.run('3', gone.signal, async () => 'never');
  const fourth = gate.run('4', here, async () => 'fourth');
  gone.abort(new Error('gone'));
  await expect(third).rejects.toThrow('gone');
  failing.reject(new Error('failed'));
  await expect(first).rejects.toThrow('failed');
  expect(await fourth).toBe('fourth');
  other.end();
  await second;
});

test('copies of one tenant work one by one, and leave places to those of others', async () => {
  const gate = new CopyGate();
  const jobs = Array.from({ length: 10 }, held);
  const begun: string[] = [];
  const start = (tenantId: string, name: string, work: () => Promise<void>) =>
    gate.run(tenantId, here, () => {
      begun.push(name);
      return work();
    });
  const runs = jobs.map(({ work }, n) => start('busy', `busy ${n}`, work));
  await expect(start('busy', 'busy 10', () => Promise.resolve())).rejects.toMatchObject({
    code: 'unavailable',
  });
  const other = held();
  const ofOther = start('other', 'other', other.work);
  expect(begun).toEqual(['busy 0', 'other']);
  jobs[0]?.end();
  await runs[0];
  expect(begun).toEqual(['busy 0', 'other', 'busy 1']);
  for (const { end } of [...jobs, other]) end();
  await Promise.all([...runs, ofOther]);
});
