import { describe, expect, test } from 'vitest';
import { APIAbortError, APITimeoutError, NotFoundError, SvcError } from '../src/index.ts';
import { type Answer, json, ManualTime, problem, Stage, thrown } from './stage.ts';

const going = json({ id: '7', status: 'running', completedAtUtc: null });
const ended = json({ id: '7', status: 'failed', completedAtUtc: '2026-01-01T00:00:00.000Z' });

/** A service that waits: this much time passes before the answer. */
function after(world: ManualTime, delayMs: number, answer: Answer): Answer {
  return (response, request) => {
    world.go(delayMs);
    answer(response, request);
  };
}

/** The wait in seconds that each read requested. */
function waits(stage: Stage): (number | null)[] {
  return stage.seen.map(({ target }) => {
    const said = new URL(target, stage.address).searchParams.get('waitSeconds');
    return said === null ? null : Number(said);
  });
}

describe('waiting for the end of a run', () => {
  test('takes one read if the run has ended, with any status', async () => {
    await using stage = await Stage.open(ended);
    const world = new ManualTime();
    const run = await stage.client({ world }).waitForExecutionRun('a/b', { correlationId: 'c-7' });
    expect(run).toMatchObject({ id: '7', status: 'failed' });
    expect(stage.seen.map(({ method, target }) => [method, target])).toEqual([
      ['GET', '/execution/runs/a%2Fb?waitSeconds=20'],
    ]);
    expect(stage.seen[0]?.headers['x-correlation-id']).toBe('c-7');
    expect(world.pending).toEqual([]);
  });

  test('reads again at once where the service has waited', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(after(world, 20_000, going), after(world, 10_000, going), ended);
    const run = await stage.client({ world }).waitForExecutionRun('7');
    expect(run.status).toBe('failed');
    expect(waits(stage)).toEqual([20, 20, 20]);
  });

  test('waits at the service for at most half the timeout of a call, so that the call does not time out', async () => {
    await using stage = await Stage.open(ended);
    const world = new ManualTime();
    await stage.client({ world, timeout: 10_000 }).waitForExecutionRun('7');
    await stage.client({ world, timeout: 10_000 }).waitForExecutionRun('7', { timeout: 3_000 });
    await stage.client({ world, timeout: 39_000 }).waitForExecutionRun('7');
    await stage.client({ world, timeout: 600_000 }).waitForExecutionRun('7');
    expect(waits(stage)).toEqual([5, 1.5, 19.5, 20]);
  });

  test('ends with its timeout, while the run continues', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(
      after(world, 20_000, going),
      after(world, 20_000, going),
      after(world, 5_000.25, going),
    );
    const wait = stage.client({ world }).waitForExecutionRun('7', { waitTimeout: 45_000.25 });
    const error = await thrown(wait, APITimeoutError);
    expect([error.operation, error.message]).toEqual([
      'getExecutionRun',
      'The run did not end in the time to wait for it; it goes on.',
    ]);
    // In whole milliseconds without a gap.
    expect(waits(stage)).toEqual([20, 20, 5.001]);
  });

  test('reads once more at the end of its timeout', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(going, ended);
    const wait = stage.client({ world }).waitForExecutionRun('7', { waitTimeout: 300 });
    await world.pass(300);
    expect((await wait).status).toBe('failed');
    expect(waits(stage)).toEqual([0.3, 0]);
  });

  test('with a timeout of 0 is one read', async () => {
    await using stage = await Stage.open(going);
    const world = new ManualTime();
    await thrown(stage.client({ world }).waitForExecutionRun('7', { waitTimeout: 0 }), APITimeoutError);
    expect(waits(stage)).toEqual([0]);
  });

  test('pauses where the service answers at once: longer each time, and not for ever', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(...Array.from({ length: 6 }, () => going), ended);
    const wait = stage.client({ world }).waitForExecutionRun('7');
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      await world.awaited(pause);
      expect(world.pending).toEqual([pause]);
      world.go(pause);
    }
    await wait;
    expect(stage.seen).toHaveLength(7);
  });

  test('pauses from the beginning again after the service has waited', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(going, going, after(world, 20_000, going), going, ended);
    const wait = stage.client({ world }).waitForExecutionRun('7');
    for (const pause of [500, 1_000, 500]) await world.pass(pause);
    await wait;
    expect(stage.seen).toHaveLength(5);
  });

  test.each([-1, Number.NaN])('cannot take %d', async (waitTimeout) => {
    await using stage = await Stage.open(ended);
    await thrown(stage.client().waitForExecutionRun('7', { waitTimeout }), SvcError);
    expect(stage.seen).toEqual([]);
  });
});

describe('a wait that fails', () => {
  test('is aborted in a read', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open(() => resolve());
    const world = new ManualTime();
    const controller = new AbortController();
    const wait = stage.client({ world }).waitForExecutionRun('7', { signal: controller.signal });
    await arrived;
    const reason = new Error('enough');
    controller.abort(reason);
    expect((await thrown(wait, APIAbortError)).cause).toBe(reason);
    expect(world.pending).toEqual([]);
  });

  test('is aborted in a pause, and asks for nothing more', async () => {
    await using stage = await Stage.open(going);
    const world = new ManualTime();
    const controller = new AbortController();
    let asked = 0;
    const token = () => `t${(asked += 1)}`;
    const wait = stage.client({ world, token }).waitForExecutionRun('7', { signal: controller.signal });
    await world.awaited(500);
    const reason = new Error('enough');
    controller.abort(reason);
    const error = await thrown(wait, APIAbortError);
    expect([error.cause, error.message]).toEqual([reason, 'The wait for the run was aborted.']);
    expect(world.pending).toEqual([]);
    expect([stage.seen.length, asked]).toEqual([1, 1]);
  });

  test('throws the error of a read unchanged', async () => {
    const world = new ManualTime();
    await using stage = await Stage.open(after(world, 20_000, going), problem(404, 'not_found'));
    const error = await thrown(stage.client({ world }).waitForExecutionRun('7'), NotFoundError);
    expect(error.code).toBe('not_found');
    expect(stage.seen).toHaveLength(2);
  });

  test('continues after a read that failed once', async () => {
    const world = new ManualTime();
    const unavailable = problem(503, 'unavailable', { retryable: true });
    await using stage = await Stage.open(unavailable, ended);
    const wait = stage.client({ world }).waitForExecutionRun('7');
    await world.pass(500);
    expect((await wait).status).toBe('failed');
  });
});
