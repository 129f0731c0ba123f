import { expect, test } from 'vitest';
import { hostileErrors } from '../../test/support/hostile-errors.ts';
import { type RunContext, RunFailure } from '../runs/plugin.ts';
import { StoreError } from '../store/port.ts';
import { executableJobs } from './built-in.ts';
import type { JobPlugin } from './job-plugin.ts';

test.each([...hostileErrors(RunFailure)])(
  'a job that throws %s leaves it to the engine as it is',
  async (_, thrown) => {
    const run = () => Promise.reject(thrown);
    const plugin = { handlers: [{ handlerId: 'h', judge: () => undefined, run }] } as unknown as JobPlugin;
    const [handler] = executableJobs([plugin], { now: () => 0 });
    const ended = Promise.resolve(handler?.run({ job: {} } as RunContext)).then(
      () => 'returned',
      (error: unknown) => Object.is(error, thrown),
    );
    expect(await ended).toBe(true);
  },
);

test('a job without room waits for a minute, however often, and then goes on', async () => {
  let [tries, now] = [0, 1_000];
  const run = () => {
    tries += 1;
    return tries < 4 ? Promise.reject(new StoreError('full', 'no room')) : Promise.resolve('done');
  };
  const plugin = { handlers: [{ handlerId: 'h', judge: () => undefined, run }] } as unknown as JobPlugin;
  const [handler] = executableJobs([plugin], { now: () => now });
  const waits: number[] = [];
  const waitForTimer = (_: string, at: Date) => {
    waits.push(at.getTime());
    now = at.getTime();
    return Promise.resolve();
  };
  expect(await handler?.run({ job: {}, waitForTimer } as unknown as RunContext)).toBe('done');
  expect(waits).toEqual([61_000, 121_000, 181_000]);
});
