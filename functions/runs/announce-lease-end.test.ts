import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ExecutionClient, executionInstance, ownScope } from '../../test/support/execution.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { LogEvent } from '../kernel/log.ts';
import type { RunMessage, RunQueue } from '../queue/port.ts';
import { announceLeaseEnd } from './announce-lease-end.ts';

/** A run under a lease of a minute, and the messages of a queue from then on. */
async function leasedRun(delivers = true, enqueue?: RunQueue['enqueue']) {
  const world = new ManualWorld();
  const instance = executionInstance(new MemoryStore(new MemoryDatabase()), {
    world,
    scope: ownScope(),
    external: [{ handlerId: 'h' }],
  });
  const client = new ExecutionClient(instance);
  const { id } = await client.start({ handlerId: 'h' });
  await client.lease({ workerId: 'w', handlerIds: ['h'], ttlSeconds: 60 });
  const messages: RunMessage[] = [];
  const lines: LogEvent[] = [];
  const queue: RunQueue = {
    ...instance.runtime.queue,
    ...(delivers ? { delivers: true } : {}),
    enqueue:
      enqueue ??
      ((message) => {
        messages.push(message);
        return Promise.resolve();
      }),
  };
  const runtime = { ...instance.runtime, queue, log: (line: LogEvent) => lines.push(line) };
  return { id, world, client, messages, lines, giveUp: () => announceLeaseEnd(runtime, id) };
}

test('a holder that gives up announces the end of its lease, so that the next delivery continues the run', async () => {
  const { id, world, messages, giveUp } = await leasedRun();
  const notBefore = world.now + 60_000;
  await giveUp();
  expect(messages).toMatchObject([{ runId: id, reason: 'lease_expired', notBefore }]);
});

test('a lease that has ended is settled: its run is ready, and no end is announced', async () => {
  const { id, world, client, messages, giveUp } = await leasedRun();
  world.now += 60_000;
  await giveUp();
  expect(messages).toMatchObject([{ runId: id, reason: 'run_ready' }]);
  expect(await client.get(id)).toMatchObject({ status: 'queued' });
});

test('a queue that does not deliver knows the end of the lease already', async () => {
  const { world, messages, giveUp } = await leasedRun(false);
  await giveUp();
  world.now += 60_000;
  await giveUp();
  expect(messages).toEqual([]);
});

test('a queue that refuses the message costs time and no error', async () => {
  const { lines, giveUp } = await leasedRun(true, () => Promise.reject(new Error('away')));
  await giveUp();
  expect(lines).toMatchObject([
    { severity: 'WARNING', message: 'A message that was delivered too early could not be requeued' },
  ]);
});
