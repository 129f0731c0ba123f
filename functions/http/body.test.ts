import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { readBody } from './body.ts';
import { bodyPolicy } from './body-time.ts';
import { BrokenBodyError, type RawRequest } from './message.ts';

/** A body that arrives when the test sends it. */
class SlowBody implements AsyncIterable<Uint8Array> {
  #next = Promise.withResolvers<IteratorResult<Uint8Array>>();
  returned = false;

  /** Settles when the reader has taken the sent bytes. */
  async send(bytes: number): Promise<void> {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve({ done: false, value: new Uint8Array(bytes) });
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  }

  end(): void {
    this.#next.resolve({ done: true, value: undefined });
  }

  fail(error: Error): void {
    this.#next.reject(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next.promise,
      return: () => {
        this.returned = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}

function reading(limitBytes: number, length: number | null = null) {
  const world = new ManualWorld();
  const body = new SlowBody();
  let proceeded = false;
  const request: RawRequest = {
    method: 'POST',
    target: '/',
    httpVersion: '1.1',
    rawHeaders: [],
    socketAddress: '',
    body,
    proceed: () => {
      proceeded = true;
    },
    signal: new AbortController().signal,
  };
  const result = readBody(request, { length }, limitBytes, world);
  result.catch(() => {});
  return { world, body, result, proceeded: () => proceeded };
}

describe('readBody', () => {
  test('joins the chunks and leaves no timer behind', async () => {
    const { world, body, result } = reading(10);
    await body.send(4);
    await body.send(6);
    body.end();
    expect((await result).whole()).toHaveLength(10);
    expect(world.pendingTimers).toBe(0);
  });

  test('refuses one byte more than the cap, without closing the stream that carries the answer', async () => {
    const { body, result, world } = reading(10);
    await body.send(11);
    await expect(result).rejects.toMatchObject({ code: 'payload_too_large' });
    expect([body.returned, world.pendingTimers]).toEqual([false, 0]);
  });

  test('refuses a declared length before the server asks the client to send', async () => {
    const { result, proceeded } = reading(10, 11);
    await expect(result).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(proceeded()).toBe(false);
  });

  test('F05: gives up after 15 s without a byte', async () => {
    const { world, result, body } = reading(1_000_000);
    for (let second = 0; second < 14; second += 1) {
      await body.send(1);
      world.advance(1_000);
    }
    await body.send(1);
    world.advance(999);
    expect(world.pendingTimers).toBe(1);
    world.advance(1);
    await expect(result).rejects.toMatchObject({ code: 'request_timeout' });
  });

  test('waits longer for a large body that keeps up', async () => {
    const { world, result, body } = reading(100_000_000);
    for (let second = 0; second < 60; second += 1) {
      await body.send(bodyPolicy.bytesPerSecondMin);
      world.advance(1_000);
    }
    body.end();
    expect((await result).whole()).toHaveLength(60 * bodyPolicy.bytesPerSecondMin);
  });

  test('gives up 15 s after a fast body stops, also after many received bytes', async () => {
    const { world, result, body } = reading(100_000_000);
    await body.send(32 * 1024 * 1024);
    world.advance(14_999);
    expect(world.pendingTimers).toBe(1);
    world.advance(1);
    await expect(result).rejects.toMatchObject({ code: 'request_timeout' });
  });

  test('distinguishes an interrupted body from a refused one', async () => {
    const { body, result } = reading(10);
    body.fail(new Error('aborted'));
    await expect(result).rejects.toBeInstanceOf(BrokenBodyError);
  });
});
