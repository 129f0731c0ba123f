import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-process-name-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NAME = /^process-[0-9a-f]{16}$/;

test('histories name this process by a random id, and a log line maps the id to the process', async () => {
  const plugin = join(folder, 'plugin.mjs');
  const fails = `{ handlerId: 'a', run: () => { throw new Error('no stock') } }`;
  writeFileSync(plugin, `export default { pluginId: 'p', name: 'p', version: '1', handlers: [${fails}] }`);
  const file = JSON.stringify({ ExecutionRuntime: { Plugins: [plugin] } });
  const { settings } = loadConfiguration({
    host: 'embedded',
    env: { SVC_DATA_DIR: folder },
    argv: [],
    readFile: (path) => (path === 'svcsettings.json' ? file : undefined),
  });
  if (settings === undefined) throw new Error('the settings have faults');
  const lines: string[] = [];
  const service = compose(settings, { writeLog: (line) => lines.push(line) });
  const chain = await service.chain(['execution']);
  await service.start();
  const get = async <T>(path: string) => (await inject(chain, { method: 'GET', path })).json<T>();
  const body = { handlerId: 'a', payload: null };
  const started = await inject(chain, { method: 'POST', path: '/execution/runs', body });
  const { id } = started.json<{ id: string }>();
  // In Development the run keeps the text of the error.
  await expect
    .poll(() => get(`/execution/runs/${id}`))
    .toMatchObject({ status: 'failed', error: 'no stock' });
  const history = await get<{ context: { workerId?: string } }[]>(`/execution/runs/${id}/history`);
  const workers = new Set(history.flatMap(({ context }) => context.workerId ?? []));
  expect(workers.size).toBe(1);
  const [worker = ''] = workers;
  expect(worker).toMatch(NAME);
  const said = lines.map((line) => JSON.parse(line) as { time: string; message: string; runId?: string });
  const [mapping, failure] = said;
  expect(mapping?.message).toContain(`${worker}: process ${process.pid} on the host ${hostname()}`);
  expect(failure).toMatchObject({ message: 'A handler failed', runId: id });
  for (const { time } of said) expect(new Date(time).toISOString()).toBe(time);
  await service.close();
});
