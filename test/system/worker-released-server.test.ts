import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { createWorker, type WorkerLogEntry } from '../../sdk/typescript/src/worker/index.ts';
import { startReleasedServer } from './released-server.ts';

test('a worker of now carries out the runs of a server of the last release', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-released-'));
  const settings = ['ExecutionRuntime:ExternalHandlers:0:HandlerId=h', 'ExecutionRuntime:MaxActiveRuns=100'];
  const server = await startReleasedServer({ SVC_DATA_DIR: folder }, settings);
  const client = new SvcClient({ baseUrl: server.address, apiKey: null, token: null });
  const log: WorkerLogEntry[] = [];
  const worker = createWorker({
    client,
    workerId: 'w',
    handlers: { h: ({ payload }) => payload },
    log: (entry) => log.push(entry),
  });
  try {
    const runs = [];
    for (let n = 0; n < 3; n += 1) runs.push(await client.startExecutionRun({ handlerId: 'h', payload: n }));
    void worker.run();
    for (const [n, run] of runs.entries())
      expect(await client.waitForExecutionRun(run.id)).toMatchObject({ result: n, attempt: 1 });
    expect(log.filter(({ level }) => level === 'warning' || level === 'error')).toEqual([]);
  } finally {
    await worker.stop();
    await server.stop();
    await rm(folder, { recursive: true });
  }
});
