import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TaskRecord } from './model.ts';
import { settingsOf } from './queue-settings.ts';
import { openSqliteTasksStore } from './sqlite-tasks-store.ts';
import { clientOf, codeOf, seconds, target, taskOf } from './stage.fixture.ts';
import { newProgress } from './task-life.ts';

const parent = 'projects/p/locations/l';
const queue = `${parent}/queues/q`;
const url = 'http://localhost:1/';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tasks-emulator-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

interface Running {
  readonly child: ChildProcess;
  readonly client: ReturnType<typeof clientOf>;
  /** Ends the process as a power failure would. */
  kill(): Promise<void>;
}

async function run(dataDir: string, ...more: string[]): Promise<Running> {
  const main = join(import.meta.dirname, 'main.ts');
  const child = spawn(
    process.execPath,
    [main, '--port=0', '--admin-port=0', `--data-dir=${dataDir}`, ...more],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  return { child, client: clientOf(await addressOf(child)), kill };
}

/** Parses the line that reports readiness; throws the output if there is none. */
async function addressOf(child: ChildProcess): Promise<{ host: string; port: number }> {
  if (child.stdout === null || child.stderr === null) throw new Error('there is no output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    const [, host = '', port] = /ready at ([^;]*):(\d+);/.exec(line) ?? [];
    if (port !== undefined) return { host, port: Number(port) };
  }
  let complaint = '';
  for await (const chunk of child.stderr) complaint += String(chunk);
  throw new Error(complaint);
}

describe('after the process was killed', () => {
  test('queues, tasks and names that are held are as they were', async () => {
    const dataDir = await folder();
    const before = await run(dataDir);
    const retryConfig = { maxAttempts: 3, minBackoff: seconds(7) };
    await before.client.createQueue({ parent, queue: { name: queue, retryConfig } });
    await before.client.pauseQueue({ name: queue });
    const gone = `${parent}/queues/gone`;
    await before.client.createQueue({ parent, queue: { name: gone } });
    await before.client.createTask({ parent: gone, task: taskOf(gone, 'a', url) });
    await before.client.deleteQueue({ name: gone });
    const body = Buffer.from([0, 255, 10]);
    const httpRequest = { httpMethod: 'PATCH', headers: { __proto__x: 'y', 'X-A': 'ä' }, body } as const;
    const scheduleTime = { seconds: Math.floor(Date.now() / 1000) + 1000, nanos: 123_456_000 };
    await before.client.createTask({
      parent: queue,
      task: taskOf(queue, 'a', url, { httpRequest, scheduleTime, dispatchDeadline: seconds(20) }),
    });
    await before.client.createTask({ parent: queue, task: taskOf(queue, null, url) });
    await before.client.createTask({ parent: queue, task: taskOf(queue, 'deleted', url) });
    await before.client.deleteTask({ name: `${queue}/tasks/deleted` });
    const look = async ({ client }: Running) => [
      await client.listQueues({ parent }, { autoPaginate: false }),
      await client.listTasks({ parent: queue, responseView: 'FULL' }, { autoPaginate: false }),
    ];
    const seen = JSON.stringify(await look(before));
    await before.kill();

    const after = await run(dataDir);
    expect(JSON.stringify(await look(after))).toBe(seen);
    expect(seen).toContain('"scheduleTime"');
    const create = (id: string) =>
      codeOf(after.client.createTask({ parent: queue, task: taskOf(queue, id, url) }));
    expect(await create('a')).toBe(6);
    expect(await create('deleted')).toBe(6);
    expect(await create('new')).toBeUndefined();
    expect(await codeOf(after.client.createQueue({ parent, queue: { name: gone } }))).toBe(9);
  });

  test('every task whose creation was acknowledged survives a kill under load', async () => {
    const dataDir = await folder();
    const before = await run(dataDir, `--queue=${queue}`);
    await before.client.pauseQueue({ name: queue });
    const confirmed: string[] = [];
    const creator = async (): Promise<void> => {
      for (;;) {
        const [task] = await before.client.createTask({ parent: queue, task: taskOf(queue, null, url) });
        confirmed.push(task.name ?? '');
        if (confirmed.length === 200) await before.kill();
      }
    };
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(creator())));
    expect(new Set(codes)).toEqual(new Set([14]));
    const after = await run(dataDir);
    const [tasks] = await after.client.listTasks({ parent: queue });
    const names = new Set(tasks.map(({ name }) => name));
    expect(confirmed.length).toBeGreaterThanOrEqual(200);
    expect(confirmed.filter((name) => !names.has(name))).toEqual([]);
  });

  test('a restart sends interrupted attempts again as further attempts, and ended tasks not at all', async () => {
    const dataDir = await folder();
    const to = await target();
    const before = await run(dataDir, `--queue=${queue}`);
    const create = (id: string) =>
      before.client.createTask({ parent: queue, task: taskOf(queue, id, `${to.url}/${id}`) });
    await create('done');
    (await to.next()).answer(200);
    await create('failed');
    (await to.next()).answer(404);
    const again = await to.next();
    expect(again.headers['x-cloudtasks-taskretrycount']).toBe('1');
    expect(await codeOf(before.client.getTask({ name: `${queue}/tasks/done` }))).toBe(5);
    await before.kill();
    const after = await run(dataDir);
    const third = await to.next();
    expect(third.url).toBe('/failed');
    expect(third.headers).toMatchObject({
      'x-cloudtasks-taskretrycount': '2',
      'x-cloudtasks-taskexecutioncount': '1',
    });
    third.answer(200);
    await after.client.createTask({ parent: queue, task: taskOf(queue, 'last', `${to.url}/last`) });
    (await to.next()).answer(200);
    expect(to.received.map(({ url: path }) => path)).toEqual([
      '/done',
      '/failed',
      '/failed',
      '/failed',
      '/last',
    ]);
  });
});

test('one process owns a folder, and a second process refuses to start on it', async () => {
  const dataDir = await folder();
  const first = await run(dataDir, `--queue=${queue}`);
  await expect(run(dataDir)).rejects.toThrow(/tasks\.sqlite cannot be used: database is locked/);
  expect((await first.client.getQueue({ name: queue }))[0].state).toBe('RUNNING');
});

test('a signal ends it, and what it had is there the next time', async () => {
  const dataDir = await folder();
  const first = await run(dataDir, `--queue=${queue}`);
  await first.client.pauseQueue({ name: queue });
  await first.client.close();
  const exited = once(first.child, 'exit');
  first.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  const second = await run(dataDir, `--queue=${queue}`);
  expect((await second.client.getQueue({ name: queue }))[0].state).toBe('PAUSED');
});

test.each([
  ['--port=x', '--port must be a whole number'],
  ['--queue=q', 'queue name must be'],
  ['--nothing', '--nothing'],
])('%s is refused', async (flag, expected) => {
  await expect(run(await folder(), flag)).rejects.toThrow(expected);
});

test('settled changes are in the file, and unsaved changes are not reported as settled', async () => {
  const [dataDir, copied] = [await folder(), await folder()];
  const store = openSqliteTasksStore(dataDir, 0);
  onTestFinished(() => store.close());
  const task: TaskRecord = {
    name: `${queue}/tasks/a`,
    number: 1,
    createdAt: 1.5,
    request: {
      url,
      method: 'POST',
      headers: { a: 'b' },
      body: null,
      oidcToken: null,
      dispatchDeadlineMs: null,
    },
    progress: newProgress(2.5),
  };
  store.putQueue({ name: queue, state: 'RUNNING', ...settingsOf({}), purgedAt: null });
  store.putTask(task);
  let settled = false;
  const settling = store.settled().then(() => {
    settled = true;
  });
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  expect(settled).toBe(false);
  await settling;
  for (const file of ['tasks.sqlite', 'tasks.sqlite-wal'])
    await copyFile(join(dataDir, file), join(copied, file));
  const copy = openSqliteTasksStore(copied, 0);
  onTestFinished(() => copy.close());
  expect(copy.load()).toMatchObject({ queues: [{ name: queue }], tasks: [task], held: [] });
});

test('after a change that cannot be written nothing is said to be settled', async () => {
  const store = openSqliteTasksStore(await folder(), 0);
  onTestFinished(() => store.close());
  const record = { name: queue, state: 'RUNNING', ...settingsOf({}), purgedAt: null } as const;
  store.putQueue({ ...record, name: null as unknown as string });
  await expect(store.settled()).rejects.toThrow('NOT NULL');
  store.putQueue(record);
  await expect(store.settled()).rejects.toThrow('NOT NULL');
  expect(store.load().queues).toEqual([]);
});
