import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';
import { CompositionFault } from './module.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-compose-execution-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const handler = (id: string) => `{ handlerId: '${id}', run: async () => null }`;
const pluginText = (id: string, ...handlerIds: readonly string[]) =>
  `{ pluginId: '${id}', name: '${id}', version: '1.0.0', handlers: [${handlerIds.map(handler).join(', ')}] }`;

let files = 0;
/** Writes a module with a new name: Node caches loaded modules by name. */
function moduleWith(text: string): string {
  files += 1;
  const path = join(folder, `plugin-${files}.mjs`);
  writeFileSync(path, text);
  return path;
}

function serviceOf(runtime: object, place = folder) {
  const file = JSON.stringify({ ExecutionRuntime: runtime });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const env = { SVC_DATA_DIR: place };
  const { settings, faults } = loadConfiguration({ host: 'embedded', env, argv: [], readFile });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  return compose(settings, { writeLog: () => {} });
}

/** The failure of serving the runtime with these settings; `null` if it succeeds. */
async function faultOf(runtime: object): Promise<string | null> {
  const service = serviceOf(runtime);
  try {
    await service.chain(['execution']);
    return null;
  } catch (error) {
    if (error instanceof CompositionFault) return error.message;
    throw error;
  } finally {
    await service.close();
  }
}

describe('handlers of a deployment', () => {
  test('come from plugins and from workers outside', async () => {
    const Plugins = [
      moduleWith(`export default ${pluginText('one', 'a', 'b')}`),
      `${moduleWith(`export const two = ${pluginText('two', 'c')}`)}#two`,
    ];
    expect(await faultOf({ Plugins, ExternalHandlers: [{ HandlerId: 'd', PluginId: 'one' }] })).toBeNull();
  });

  test.each<[string, () => object, RegExp]>([
    [
      'a worker outside and a plugin',
      () => ({
        Plugins: [moduleWith(`export default ${pluginText('p', 'a')}`)],
        ExternalHandlers: [{ HandlerId: 'a' }],
      }),
      /handlers of a cannot be used: handler a is registered twice/,
    ],
    [
      'two plugins',
      () => ({ Plugins: ['p', 'q'].map((id) => moduleWith(`export default ${pluginText(id, 'a')}`)) }),
      /handlers of q cannot be used: handler a is registered twice/,
    ],
    [
      'one plugin twice',
      () => ({ Plugins: [moduleWith(`export default ${pluginText('p', 'a', 'a')}`)] }),
      /handlers of p cannot be used: handler a is registered twice/,
    ],
  ])('are claimed by one: %s', async (_, runtime, expected) => {
    expect(await faultOf(runtime())).toMatch(expected);
  });

  test('must be within the limits of the contract, or their plugin is named', async () => {
    const text = `export default { pluginId: 'p', name: 'p', version: '1', handlers: [
      { handlerId: 'a', maxAttempts: 26, run: () => null }] }`;
    const fault = await faultOf({ Plugins: [moduleWith(text)] });
    expect(fault).toMatch(/handlers of p cannot be used: handler "a": maxAttempts must be/);
  });

  test('a plugin is named once', async () => {
    const Plugins = ['a', 'b'].map((id) => moduleWith(`export default ${pluginText('p', id)}`));
    expect(await faultOf({ Plugins })).toMatch(/plugin p is registered twice/);
  });

  test.each<[string, () => string, RegExp]>([
    ['is not there', () => join(folder, 'none.mjs'), /cannot be used: loading it failed/],
    ['does not load', () => moduleWith('throw new Error("sesame")'), /cannot be used: loading it failed/],
    ['exports something else', () => moduleWith('export default 1'), /export default is no plugin/],
    ['has no such export', () => `${moduleWith('export const a = 1')}#b`, /export b is no plugin/],
    [
      'has a handler that does nothing',
      () =>
        moduleWith(
          `export default { pluginId: 'p', name: 'p', version: '1', handlers: [{ handlerId: 'a' }] }`,
        ),
      /export default is no plugin/,
    ],
    [
      'has no version',
      () => moduleWith(`export default { pluginId: 'p', name: 'p', handlers: [${handler('a')}] }`),
      /export default is no plugin/,
    ],
  ])('a plugin that %s stops the start', async (_, place, expected) => {
    const fault = await faultOf({ Plugins: [place()] });
    expect(fault).toMatch(expected);
    // The module's own message may quote its configuration.
    expect(fault).not.toContain('sesame');
  });
});

describe('runs of other processes on one SQLite file', () => {
  test('are taken at the start where their process is gone, and left alone where it lives', async () => {
    const place = mkdtempSync(join(folder, 'shared-'));
    const ends: (() => void)[] = [];
    const wait = `svc-test-${randomUUID()}`;
    Object.assign(globalThis, { [wait]: (end: () => void) => ends.push(end) });
    const run = `() => new Promise((end) => globalThis['${wait}'](() => end(null)))`;
    const text = `{ pluginId: 'p', name: 'p', version: '1', handlers: [{ handlerId: 'held', run: ${run} }] }`;
    const runtime = { Plugins: [moduleWith(`export default ${text}`)] };
    const locks = () => readdirSync(place).filter((name) => name.endsWith('.lock'));
    const begin = async () => {
      const service = serviceOf(runtime, place);
      const chain = await service.chain(['execution']);
      await service.start();
      return { service, chain };
    };
    const first = await begin();
    const started = await inject(first.chain, {
      method: 'POST',
      path: '/execution/runs',
      body: { handlerId: 'held', payload: null },
    });
    const { id } = started.json<{ id: string }>();
    const shown = async (chain: typeof first.chain) =>
      (await inject(chain, { method: 'GET', path: `/execution/runs/${id}` })).json<object>();
    await expect.poll(() => ends.length).toBe(1);
    // The same process, so the same process id.
    const second = await begin();
    expect(await shown(second.chain)).toMatchObject({ status: 'running', attempt: 1 });
    const left = 'svc.canonical.sqlite.process-host-1-0123456789abcdef.lock';
    writeFileSync(join(place, left), '');
    expect(locks()).toHaveLength(3);
    // As if the operating system had ended both processes.
    for (const name of locks()) if (name !== left) rmSync(join(place, name));
    const third = await begin();
    await expect.poll(() => ends.length).toBe(2);
    expect(await shown(third.chain)).toMatchObject({ status: 'running', attempt: 2 });
    expect(locks()).toHaveLength(1);
    expect(locks()).not.toContain(left);
    for (const end of ends) end();
    for (const { service } of [first, second, third]) await service.close();
    expect(locks()).toEqual([]);
  });
});

describe('the limits of lists', () => {
  const STATUS = '/execution/runtime/effective';
  const POLICY = ['defaultListLimit', 'maxListLimit', 'defaultHistoryLimit', 'maxHistoryLimit'] as const;

  async function served(runtime: object) {
    const Plugins = [moduleWith(`export default ${pluginText('p', 'a')}`)];
    const service = serviceOf({ Plugins, ...runtime }, mkdtempSync(join(folder, 'limits-')));
    const chain = await service.chain(['execution']);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const scheduledAtUtc = new Date(Date.now() + 86_400_000).toISOString();
      const body = { handlerId: 'a', payload: null, scheduledAtUtc };
      ids.unshift(
        (await inject(chain, { method: 'POST', path: '/execution/runs', body })).json<{ id: string }>().id,
      );
    }
    const get = (path: string) => inject(chain, { method: 'GET', path });
    const policy = async () => {
      const { status } = (await get(STATUS)).json<{
        status: { operationalPolicy: Record<string, number> };
      }>();
      return POLICY.map((name) => status.operationalPolicy[name]);
    };
    return { ids, get, policy, close: () => service.close() };
  }

  test('are those of the settings, as the status document says, and no default is above its maximum', async () => {
    const { ids, get, policy, close } = await served({
      DefaultListLimit: 3,
      MaxListLimit: 4,
      MaxHistoryLimit: 1,
    });
    expect(await policy()).toEqual([3, 4, 1, 1]);
    const first = await get('/execution/runs');
    expect(first.json<{ id: string }[]>().map(({ id }) => id)).toEqual(ids.slice(0, 3));
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.link ?? '') ?? [];
    const second = await get(next);
    expect(second.json<{ id: string }[]>().map(({ id }) => id)).toEqual(ids.slice(3));
    expect(second.headers.link).toBeUndefined();
    expect((await get('/execution/runs?limit=4')).json<unknown[]>()).toHaveLength(4);
    const refused = await get('/execution/runs?limit=5');
    expect([refused.status, refused.json<{ code: string }>().code]).toEqual([400, 'limit_exceeded']);
    const history = await get(`/execution/runs/${ids[0]}/history`);
    expect([history.status, history.json<unknown[]>().length]).toEqual([200, 1]);
    await close();
  });

  test('are never above the maximum of the contract', async () => {
    const { policy, close } = await served({
      DefaultListLimit: 1_000,
      MaxListLimit: 1_000,
      MaxHistoryLimit: 500,
    });
    expect(await policy()).toEqual([200, 200, 50, 200]);
    await close();
  });
});

test('execution requests have a rate limit of their own', async () => {
  const file = JSON.stringify({
    Server: { ExecutionRateLimit: { PermitLimit: 2 }, WorkerRateLimit: { PermitLimit: 1 } },
  });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const env = { SVC_DATA_DIR: mkdtempSync(join(folder, 'rate-')) };
  const { settings } = loadConfiguration({ host: 'embedded', env, argv: [], readFile });
  if (settings === undefined) throw new Error('the settings are refused');
  const service = compose(settings, { writeLog: () => {} });
  const chain = await service.chain(['execution']);
  const list = () => inject(chain, { method: 'GET', path: '/execution/runs' });
  expect([(await list()).status, (await list()).status]).toEqual([200, 200]);
  const third = await list();
  expect([third.status, third.json<{ code: string }>().code]).toEqual([429, 'rate_limited']);
  // Starts and lists leave workers their renewals.
  const body = { workerId: 'w', handlerIds: ['work'] };
  const lease = () => inject(chain, { method: 'POST', path: '/execution/workers/leases', body });
  expect((await lease()).status).not.toBe(429);
  const again = await lease();
  expect([again.status, again.headers['ratelimit-policy']]).toEqual([429, '"worker";q=1;w=60']);
  // A path that no operation has counts with the other requests for runs.
  expect(
    (await inject(chain, { method: 'GET', path: '/execution/nothing' })).headers['ratelimit-policy'],
  ).toBe('"execution";q=2;w=60');
  await service.close();
});
