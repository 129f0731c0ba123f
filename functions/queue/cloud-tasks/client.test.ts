import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { startTasksEmulator, type TasksEmulator } from '../../../emulator/tasks/tasks-emulator.ts';
import { openTaskService } from './client.ts';
import { taskOf } from './message.ts';

const queue = 'projects/demo-svc/locations/local/queues/q';
const route = { queue, url: 'http://127.0.0.1:9/', serviceAccountEmail: null, audience: null };

async function serviceOf(emulator: TasksEmulator) {
  const service = await openTaskService({
    projectId: 'demo-svc',
    emulatorHost: `${emulator.host}:${emulator.port}`,
  });
  onTestFinished(() => service.close());
  return service;
}

async function emulated(faults: object = {}): Promise<TasksEmulator> {
  const emulator = await startTasksEmulator({ queues: [{ name: queue }], faults, stopGraceMs: 0 });
  onTestFinished(() => emulator.stop());
  return emulator;
}

const soon = Date.now() + 3_600_000;
const message = () =>
  ({ runId: randomUUID(), handlerId: 'h', reason: 'timer_due', notBefore: soon, attempt: 0 }) as const;

async function countOf({ adminUrl }: TasksEmulator): Promise<number> {
  const state = (await (await fetch(`${adminUrl}/state`)).json()) as { queues: { tasks: unknown[] }[] };
  return state.queues.flatMap(({ tasks }) => tasks).length;
}

test('a repeated message is one task', async () => {
  const emulator = await emulated();
  const service = await serviceOf(emulator);
  const task = taskOf(message(), route, Date.now());
  await service.create(queue, task);
  await service.create(queue, task);
  await Promise.all([service.create(queue, task), service.create(queue, task)]);
  expect(await countOf(emulator)).toBe(1);
});

test.each([true, false])(
  'a call that fails in passing is tried again (carried out: %s)',
  async (carriedOut) => {
    const refuse = { probability: 0.5, seed: 3, code: 14, carriedOut, methods: ['CreateTask'] };
    const emulator = await emulated({ refuse });
    const service = await serviceOf(emulator);
    const now = Date.now();
    for (let count = 0; count < 10; count += 1) await service.create(queue, taskOf(message(), route, now));
    expect(await countOf(emulator)).toBe(10);
  },
);

test('a missing queue is a failure at once', async () => {
  const service = await serviceOf(await emulated());
  const other = 'projects/demo-svc/locations/local/queues/none';
  const task = taskOf(message(), { ...route, queue: other }, Date.now());
  await expect(service.create(other, task)).rejects.toMatchObject({ code: 5 });
});
