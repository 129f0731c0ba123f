import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Program } from '../../../test/system/program.ts';
import { WorkPlace } from './worker-stage.ts';

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(2, ['ExecutionRuntime:MaxLeaseExpirations=100']);
});
afterAll(() => place[Symbol.asyncDispose]());

const program = resolve(import.meta.dirname, 'worker-program.ts');
const worker = (name: string, leaseSeconds = 1, holdsAfter = Infinity) =>
  new Program([program, name, `${leaseSeconds}`, `${holdsAfter}`], { env: { SVC_BASE_URL: place.address } });

const RUNS = 60;
const KILLS = 4;

test('every run ends once, although workers are killed while they execute', async () => {
  const runs = await Promise.all(Array.from({ length: RUNS }, (_, n) => place.start('h0', n)));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    // After this number of runs the worker ends no more, so that it is killed while it executes one.
    await using dying = worker(`dying-${kill}`, 1, kill * 4);
    await dying.says(new RegExp(`(begun [^]*){${kill * 4}}`));
    dying.signal('SIGKILL');
    expect((await dying.exit).signal).toBe('SIGKILL');
  }
  await using last = worker('last');
  const left: number[] = [];
  for (const [n, run] of runs.entries()) {
    const ended = await place.client.waitForExecutionRun(run.id);
    expect(ended).toMatchObject({ status: 'succeeded', result: n });
    left.push(ended.attempt);
    const history = await place.client.getExecutionRunHistory(run.id, { limit: 200 });
    const count = (type: string) => history.filter((event) => event.type === type).length;
    expect([count('run.completed'), count('run.created'), count('run.started')]).toEqual([
      1,
      1,
      ended.attempt,
    ]);
  }
  // Attempts park and end alternately: a run with a third attempt has lost a worker.
  expect(left.filter((attempt) => attempt > 2).length).toBeGreaterThan(0);
  last.signal('SIGTERM');
  expect(await last.exit).toEqual({ code: 0, signal: null });
});

test('a worker that receives a signal completes its run first', async () => {
  const run = await place.start('h1');
  await using running = worker('signalled', 60);
  await running.says(new RegExp(`begun ${run.id}`));
  running.signal('SIGTERM');
  expect(await running.exit).toEqual({ code: 0, signal: null });
  expect(running.stdout).toContain('ended');
  expect(await place.client.getExecutionRun(run.id)).toMatchObject({
    status: 'succeeded',
    result: { stopped: false },
  });
});
