import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'svc-plugin-steps-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The program of the page on handlers, as a module. */
function documentedPlugin(): string {
  const page = readFileSync(join(root, 'docs/handlers.md'), 'utf8');
  const [, text = ''] = /```ts\n(\/\/ orders\.ts\n[^]*?)```/.exec(page) ?? [];
  const kit = pathToFileURL(join(root, 'sdk/typescript/src/worker/index.ts')).href;
  expect(text).toContain("'@svc-runtime/client/worker'");
  const path = join(folder, 'orders.ts');
  writeFileSync(path, text.replace('@svc-runtime/client/worker', kit));
  return path;
}

async function started() {
  const file = JSON.stringify({ ExecutionRuntime: { Plugins: [documentedPlugin()] } });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const env = { SVC_DATA_DIR: folder };
  const { settings } = loadConfiguration({ host: 'embedded', env, argv: [], readFile });
  if (settings === undefined) throw new Error('the settings are faulty');
  const service = compose(settings, { writeLog: () => {} });
  const chain = await service.chain(['execution', 'canonical']);
  await service.start();
  const call = async <T>(method: string, path: string, body?: object) =>
    (await inject(chain, { method, path, ...(body && { body }) })).json<T>();
  return { call, close: () => service.close() };
}

test('the documented plugin waits for its event, starts a child and commits', async () => {
  const { call, close } = await started();
  const payload = { id: '7', tenant: 'acme' };
  const start = { handlerId: 'order.pay', payload, scope: { productId: 'p', tenantId: 'acme' } };
  const { id } = await call<{ id: string }>('POST', '/execution/runs', start);
  await call('POST', `/execution/runs/${id}/events`, { name: 'approval', payload: { by: 'kim' } });
  const path = `/execution/runs/${id}`;
  await expect
    .poll(() => call<object>('GET', path), { timeout: 10_000 })
    .toMatchObject({ status: 'succeeded' });
  expect(await call('GET', path)).toMatchObject({
    result: { charge: `ch-${id}/charge`, label: 'L-7' },
    handlerVersion: '3',
    maxAttempts: 3,
  });
  const [child] = await call<{ parentRunId: string }[]>('GET', '/execution/runs?handlerId=order.ship');
  expect(child).toMatchObject({ parentRunId: id, status: 'succeeded' });
  expect(await call('GET', '/canonical/tenants/acme/documents/order/7')).toMatchObject({
    data: { label: 'L-7' },
  });
  await close();
});
