import { expect, test } from 'vitest';
import type { RunMessage } from '../port.ts';
import { CloudTasksQueue } from './cloud-tasks-queue.ts';
import type { QueueTask } from './message.ts';

const route = { queue: 'q', url: 'https://worker.example', serviceAccountEmail: null, audience: null };
const message: RunMessage = { runId: 'r', handlerId: 'h', reason: 'run_ready', notBefore: 0, attempt: 0 };

function queueOf(fails = false) {
  const created: QueueTask[] = [];
  const hints: string[] = [];
  let opened = 0;
  const service = {
    async create(_queue: string, task: QueueTask) {
      if (fails) throw new Error('the queue does not answer');
      created.push(task);
    },
    close: () => Promise.resolve(),
  };
  const queue = new CloudTasksQueue({
    async tasks() {
      opened += 1;
      return service;
    },
    routeOf: (handlerId) => (handlerId === 'h' ? route : null),
    clock: { now: () => 1_000 },
    hint: (handlerId) => hints.push(handlerId),
  });
  return { queue, created, hints, opened: () => opened };
}

test('a message becomes a task, and waiting calls of this process get a hint', async () => {
  const { queue, created, hints } = queueOf();
  await queue.enqueue(message);
  await queue.enqueue({ ...message, reason: 'timer_due', notBefore: 5_000 });
  expect(created).toHaveLength(2);
  expect(hints).toEqual(['h']);
});

test('a renewed lease costs nothing', async () => {
  const { queue, created, opened } = queueOf();
  await queue.enqueue({ ...message, reason: 'lease_expired', notBefore: 9_000, renewed: true });
  expect([created.length, opened()]).toEqual([0, 0]);
});

test('enqueue fails for a handler without a route, and when Cloud Tasks does not answer', async () => {
  await expect(queueOf().queue.enqueue({ ...message, handlerId: 'other' })).rejects.toThrow('no worker');
  const { queue, hints } = queueOf(true);
  await expect(queue.enqueue(message)).rejects.toThrow('the queue does not answer');
  // The run is in the store all the same.
  expect(hints).toEqual(['h']);
});
