import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { type ServerProcess, serverProcess } from '../support/server-process.ts';
import { waysToForget } from './unhandled-rejection-ways.ts';

interface Line {
  readonly severity: string;
  readonly message: string;
  readonly runId?: string;
  readonly handlerId?: string;
  readonly failure?: string;
}

/** The lines of the log, and a wait for one. */
class Lines {
  readonly all: Line[] = [];
  #notify: () => void = () => undefined;

  constructor(child: ChildProcess) {
    if (child.stderr === null) throw new Error('the server has no log to read');
    createInterface({ input: child.stderr }).on('line', (text) => {
      if (text.startsWith('{')) this.all.push(JSON.parse(text) as Line);
      this.#notify();
    });
  }

  async find(wanted: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = this.all.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#notify = resolve;
      });
    }
  }
}

const OF_RUNNING = 'A handler left a rejected promise unhandled, so its run fails';

const folder = mkdtempSync(join(tmpdir(), 'svc-unhandled-'));

let server: ServerProcess;
let client: SvcClient;
let lines: Lines;
beforeAll(async () => {
  const settings = [
    'ExecutionRuntime:Plugins:0=./test/system/unhandled-rejection-plugin.ts',
    'ExecutionRuntime:LeaseSeconds=10',
    'Server:ExecutionRateLimit:PermitLimit=1000000',
  ];
  const child = spawn(process.execPath, ['functions/embedded.ts', ...settings.map((each) => `--${each}`)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORT: '0', SVC_DATA_DIR: folder },
  });
  lines = new Lines(child);
  server = await serverProcess(child);
  client = new SvcClient({ baseUrl: server.address });
});
afterAll(async () => {
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
});

const executed = async (handlerId: string, payload: string | null = null) => {
  const { id } = await client.startExecutionRun({ handlerId, payload });
  return client.waitForExecutionRun(id);
};

test.each(Object.keys(waysToForget))(
  'a handler that forgets %s fails its run, and ends nothing else',
  async (way) => {
    const run = await executed('p.careless', way);
    expect(run).toMatchObject({
      status: 'failed',
      failureClass: 'unhandled_rejection',
      attempt: 1,
      result: null,
    });
    const line = await lines.find(({ runId, message }) => runId === run.id && message === OF_RUNNING);
    expect(line).toMatchObject({ severity: 'ERROR', handlerId: 'p.careless' });
  },
);

test('a handler that ignores its signal fails its run after the length of a lease', async () => {
  expect(await executed('p.stubborn')).toMatchObject({
    status: 'failed',
    failureClass: 'unhandled_rejection',
    attempt: 1,
  });
});

test('the policy of the run decides about a retry', async () => {
  expect(await executed('p.again')).toMatchObject({ status: 'succeeded', attempt: 2, result: 'done' });
});

test('a rejection at the very end of a handler fails its run', async () => {
  expect(await executed('p.last')).toMatchObject({ status: 'failed', failureClass: 'unhandled_rejection' });
});

test('a rejection after the end of the run is logged alone', async () => {
  const run = await executed('p.late');
  expect(run).toMatchObject({ status: 'succeeded', result: 'done' });
  const line = await lines.find(({ runId }) => runId === run.id);
  expect(line).toMatchObject({
    severity: 'ERROR',
    handlerId: 'p.late',
    message: 'A handler left a rejected promise unhandled; its run had ended or was interrupted',
  });
});

test('a rejection that no handler left is an error in the log', async () => {
  const line = await lines.find(
    ({ message }) => message === 'A promise was rejected, and nothing handled it',
  );
  expect(line).toMatchObject({ severity: 'ERROR' });
  expect(line).not.toHaveProperty('handlerId');
});

test('a handler that leaves many writes few lines, and none shows the text of an error', async () => {
  const { id } = await executed('p.careless', 'many at once');
  // The lines of the next run come after all of them.
  const next = await executed('p.careless', 'a rejected promise');
  await lines.find(({ runId }) => runId === next.id);
  // The line of the failed run itself has the handler too.
  const left = lines.all.filter(({ runId, message }) => runId === id && message !== 'A run failed');
  expect(left.filter(({ handlerId }) => handlerId !== undefined)).toHaveLength(5);
  expect(JSON.stringify(lines.all)).not.toContain('canary');
});

test('the server has lived through all of it, and stops in order', async () => {
  expect(server.child.exitCode).toBeNull();
  expect(await server.stop()).toBe(0);
});
