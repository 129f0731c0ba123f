import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { compose } from './compose.ts';
import { CompositionFault } from './compose-identity.ts';
import { loadConfiguration } from './config/load.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-compose-execution-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const handler = (id: string) => `{ handlerId: '${id}', run: async () => null }`;
const pluginText = (id: string, ...handlerIds: readonly string[]) =>
  `{ pluginId: '${id}', name: '${id}', version: '1.0.0', handlers: [${handlerIds.map(handler).join(', ')}] }`;

let files = 0;
/** A module of its own: Node keeps what it has loaded by its name. */
function moduleWith(text: string): string {
  files += 1;
  const path = join(folder, `plugin-${files}.mjs`);
  writeFileSync(path, text);
  return path;
}

/** What stands in the way of serving the runtime with these settings; `null` where nothing does. */
async function faultOf(runtime: object): Promise<string | null> {
  const file = JSON.stringify({ ExecutionRuntime: runtime, Server: { DataDirectory: folder } });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const { settings, faults } = loadConfiguration({ host: 'embedded', env: {}, argv: [], readFile });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const service = compose(settings, { writeLog: () => {} });
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
    // Its own words may quote what it was configured with.
    expect(fault).not.toContain('sesame');
  });
});
