import { expect, test } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { Connection } from './connection.ts';
import { Pool } from './pool.ts';

const waitMaxMs = 1_000;

/** As much of a connection as a pool uses. */
class FakeConnection {
  usable = true;
  ping = () => Promise.resolve();
  rollback = () => Promise.resolve();
  destroy(): void {
    this.usable = false;
  }
  end(): Promise<void> {
    this.usable = false;
    return Promise.resolve();
  }
}

/** A pool in which the test decides when a connection opens. */
function poolOf(size: number) {
  const world = new ManualWorld();
  const opening: PromiseWithResolvers<Connection>[] = [];
  const open = () => {
    const pending = Promise.withResolvers<Connection>();
    opening.push(pending);
    return pending.promise;
  };
  const pool = new Pool({ open, clock: world.clock, timers: world.timers, size, waitMaxMs });
  const finish = async (): Promise<FakeConnection> => {
    const connection = new FakeConnection();
    opening.shift()?.resolve(connection as unknown as Connection);
    await settled();
    return connection;
  };
  return { world, opening, pool, finish };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const busy = { failure: 'contention' };

/** A connection that broke in use, of which one call waits for another. */
async function broken({ pool, finish }: ReturnType<typeof poolOf>) {
  const first = pool.acquire();
  await finish();
  const connection = await first;
  const waiter = pool.acquire();
  waiter.catch(() => undefined);
  connection.destroy();
  return { connection, waiter };
}

test('a replacement goes to the call that waited for it', async () => {
  const parts = poolOf(1);
  const { connection, waiter } = await broken(parts);
  parts.pool.release(connection);
  const replacement = await parts.finish();
  expect(await waiter).toBe(replacement);
});

test('a replacement that is ready too late for its waiter serves the next call', async () => {
  const parts = poolOf(1);
  const { connection, waiter } = await broken(parts);
  parts.world.advance(waitMaxMs - 1);
  parts.pool.release(connection);
  parts.world.advance(1);
  await expect(waiter).rejects.toMatchObject(busy);
  const replacement = await parts.finish();
  expect(await parts.pool.acquire()).toBe(replacement);
});

test('or for one that waits by then', async () => {
  const parts = poolOf(1);
  const { connection, waiter } = await broken(parts);
  parts.world.advance(waitMaxMs - 1);
  parts.pool.release(connection);
  const later = parts.pool.acquire();
  parts.world.advance(1);
  await expect(waiter).rejects.toMatchObject(busy);
  const replacement = await parts.finish();
  expect(await later).toBe(replacement);
  expect(parts.opening).toHaveLength(0);
});

test('a replacement that cannot be opened fails the waiting calls, and frees its place', async () => {
  const parts = poolOf(1);
  const { connection, waiter } = await broken(parts);
  parts.pool.release(connection);
  parts.opening.shift()?.reject(new Error('gone'));
  await expect(waiter).rejects.toThrow('gone');
  const next = parts.pool.acquire();
  const opened = await parts.finish();
  expect(await next).toBe(opened);
});

test('a replacement that comes after the end is closed', async () => {
  const parts = poolOf(1);
  const { connection, waiter } = await broken(parts);
  parts.pool.release(connection);
  await parts.pool.close();
  await expect(waiter).rejects.toMatchObject({ failure: 'unavailable' });
  const replacement = await parts.finish();
  expect(replacement.usable).toBe(false);
});

test('no more replacements are opened than calls wait for', async () => {
  const parts = poolOf(2);
  const held = [parts.pool.acquire(), parts.pool.acquire()];
  await parts.finish();
  await parts.finish();
  const connections = await Promise.all(held);
  const waiter = parts.pool.acquire();
  await settled();
  for (const connection of connections) {
    connection.destroy();
    parts.pool.release(connection);
  }
  expect(parts.opening).toHaveLength(1);
  const replacement = await parts.finish();
  expect(await waiter).toBe(replacement);
});
