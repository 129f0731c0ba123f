import { expect, test } from 'vitest';
import { hostileErrors } from '../../test/support/hostile-errors.ts';
import { type RunContext, RunFailure } from '../runs/plugin.ts';
import { executableJobs } from './built-in.ts';
import type { JobPlugin } from './job-plugin.ts';

test.each([...hostileErrors(RunFailure)])(
  'a job that throws %s leaves it to the engine as it is',
  async (_, thrown) => {
    const run = () => Promise.reject(thrown);
    const plugin = { handlers: [{ handlerId: 'h', judge: () => undefined, run }] } as unknown as JobPlugin;
    const [handler] = executableJobs([plugin]);
    const ended = Promise.resolve(handler?.run({ job: {} } as RunContext)).then(
      () => 'returned',
      (error: unknown) => Object.is(error, thrown),
    );
    expect(await ended).toBe(true);
  },
);
