import { describe, expect, test } from 'vitest';
import {
  APIAbortError,
  APIConnectionError,
  APITimeoutError,
  SvcError,
  UnavailableError,
} from '../src/index.ts';
import { foreign, hangUp, json, ManualTime, problem, Stage, silence, thrown } from './stage.ts';

describe('the time of a call', () => {
  test('ends it if no answer arrives', async () => {
    await using stage = await Stage.open(silence);
    const world = new ManualTime();
    const call = stage.client({ world, timeout: 3000 }).health();
    await world.pass(3000);
    const error = await thrown(call, APITimeoutError);
    expect(error.operation).toBe('getHealth');
    expect(world.pending).toEqual([]);
  });

  test('is a minute unless an option of the client or of the call sets it', async () => {
    await using stage = await Stage.open(silence);
    const world = new ManualTime();
    const calls = [
      stage.client({ world }).health(),
      stage.client({ world, timeout: 5 }).health(),
      stage.client({ world, timeout: 5 }).health({ timeout: 7 }),
    ].map((call) => thrown(call, APITimeoutError));
    await Promise.resolve();
    expect(world.pending).toEqual([60_000, 5, 7]);
    await world.pass(60_000);
    await Promise.all(calls);
  });

  test('includes all its retries', async () => {
    await using stage = await Stage.open(hangUp, silence);
    const world = new ManualTime();
    const call = stage.client({ world, timeout: 1000 }).health();
    await world.pass(500);
    // Only the call's own timer is left.
    expect(world.pending).toEqual([1000]);
    await world.pass(1000);
    await thrown(call, APITimeoutError);
  });

  test('is not waited for if the pause would outlast it: the call throws the failure at once', async () => {
    await using stage = await Stage.open(
      problem(503, 'unavailable', { retryable: true, retryAfterSeconds: 5 }),
    );
    const world = new ManualTime();
    await thrown(stage.client({ world, timeout: 5000 }).health(), UnavailableError);
    expect(stage.seen).toHaveLength(1);
  });

  test('ends the reading of a body that does not end', async () => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"a":');
      resolve();
    });
    const world = new ManualTime();
    const call = stage.client({ world, timeout: 1000 }).health();
    await begun;
    await world.pass(1000);
    await thrown(call, APITimeoutError);
  });

  test('ends a fetch that ignores its signal', async () => {
    await using stage = await Stage.open(json({}));
    const world = new ManualTime();
    const never = () => new Promise<never>(() => {});
    const calls = [
      stage.client({ world, timeout: 1000, fetch: never }).health(),
      stage.client({ world, timeout: 1000, token: never }).health(),
    ].map((call) => thrown(call, APITimeoutError));
    await world.pass(1000);
    await Promise.all(calls);
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])('cannot be %d', async (timeout) => {
    await using stage = await Stage.open(json({}));
    expect(() => stage.client({ timeout })).toThrow(SvcError);
    await thrown(stage.client().health({ timeout }), SvcError);
    expect(stage.seen).toEqual([]);
  });

  test.each([-1, 1.5, Number.NaN])('nor can maxRetries be %d', async (maxRetries) => {
    await using stage = await Stage.open(json({}));
    expect(() => stage.client({ maxRetries })).toThrow(SvcError);
    await thrown(stage.client().health({ maxRetries }), SvcError);
  });
});

describe('the signal of the caller', () => {
  test('ends a call under way, with its reason', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open(() => resolve());
    const world = new ManualTime();
    const controller = new AbortController();
    const call = stage.client({ world }).health({ signal: controller.signal });
    await arrived;
    const reason = new Error('enough');
    controller.abort(reason);
    const error = await thrown(call, APIAbortError);
    expect(error.cause).toBe(reason);
    expect(error).not.toBeInstanceOf(APIConnectionError);
    expect(world.pending).toEqual([]);
  });

  test('ends the pause between two tries', async () => {
    await using stage = await Stage.open(foreign(503, { 'retry-after': '30' }));
    const world = new ManualTime();
    const paused = new Promise<void>((resolve) => {
      const { after } = world;
      Object.assign(world, {
        after: (delayMs: number, callback: () => void) => {
          if (delayMs === 30_000) resolve();
          return after(delayMs, callback);
        },
      });
    });
    const controller = new AbortController();
    let asked = 0;
    const token = () => `t${(asked += 1)}`;
    const call = stage.client({ world, token }).health({ signal: controller.signal });
    await paused;
    controller.abort();
    await thrown(call, APIAbortError);
    expect(world.pending).toEqual([]);
    expect([stage.seen.length, asked]).toEqual([1, 1]);
  });

  test('is checked before anything is sent', async () => {
    await using stage = await Stage.open(json({}));
    const token = () => expect.fail('a credential was asked for');
    await thrown(stage.client({ token }).health({ signal: AbortSignal.abort() }), APIAbortError);
    expect(stage.seen).toEqual([]);
  });

  test('ends a body that is read as a stream, though the call is over', async () => {
    await using stage = await Stage.open((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{');
    });
    const world = new ManualTime();
    const controller = new AbortController();
    const response = await stage.client({ world }).health({ signal: controller.signal }).asResponse();
    expect(world.pending).toEqual([]);
    const text = response.text();
    controller.abort();
    await expect(text).rejects.toThrow();
  });
});
