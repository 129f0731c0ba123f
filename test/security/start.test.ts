import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { hashApiKey } from '../../functions/identity/api-keys.ts';
import { grantSettings, serviceAudience } from '../support/issued-service.ts';
import { startService } from '../support/service.ts';
import { Program, root } from '../system/program.ts';

/** The conditions that keep the service from starting, its messages then, and the callers that it answers once it has started. */

const folder = mkdtempSync(join(tmpdir(), 'svc-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const grants = grantSettings([{ principal: 'a@b.example', tenants: ['acme'], operations: ['read'] }]);
const custom = (path: string) => ({
  Environment: 'Production',
  'Server:CanonicalAccess:AuthenticatorType': path,
  ...grants,
});
const read = { method: 'GET', path: '/canonical/tenants/acme/documents/claim/1' };

// An hour passes in 3.6 s, and the ten seconds of a module in ten milliseconds.
const hasty = {
  ...machine,
  timers: {
    after: (delayMs: number, callback: () => void) => machine.timers.after(delayMs / 1000, callback),
  },
};

describe('A25: an authenticator module', () => {
  test('that never ends to load is given up', async () => {
    const path = fileOf('hanging.mjs', 'await new Promise(() => {}); export default {};');
    const starting = startService({ settings: custom(path), world: hasty });
    await expect(starting).rejects.toThrow(
      /hanging\.mjs cannot be used: it was still loading after 10 seconds/,
    );
  });

  test('that fails to load is reported by the class of its error, never by its text', async () => {
    const path = fileOf('failing.mjs', "throw new TypeError('mongodb://user:hunter2@db');");
    const fault: unknown = await startService({ settings: custom(path) }).catch((error: unknown) => error);
    expect(String(fault)).toMatch(/failing\.mjs cannot be used: loading it failed with TypeError$/);
    const missing = startService({ settings: custom(join(folder, 'none.mjs')) });
    await expect(missing).rejects.toThrow(
      /none\.mjs cannot be used: loading it failed with .*ERR_MODULE_NOT_FOUND/,
    );
  });

  test('that is no authenticator is reported in a sentence of ours', async () => {
    const path = fileOf('empty.mjs', 'export const nothing = 1;');
    await expect(startService({ settings: custom(path) })).rejects.toThrow(/no default export/);
  });

  test('that hangs does not keep a signal from ending the process', async () => {
    const path = fileOf(
      'holding.mjs',
      "setInterval(() => {}, 1000); process.stderr.write('loading\\n'); await new Promise(() => {});",
    );
    const settings = Object.entries({ ...custom(path), 'Server:DataDirectory': join(folder, 'data') });
    const args = settings.map(([key, value]) => `--${key}=${value}`);
    await using program = new Program([join(root, 'functions/embedded.ts'), ...args], {
      cwd: folder,
      env: { PORT: '0' },
    });
    await program.says(/^loading$/m);
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });
});

describe('API keys', () => {
  test.each([
    ['does not exist', join(folder, 'none.json')],
    ['cannot be read (EISDIR)', folder],
  ])(
    'C04: a file of them that %s stops the start, and the fault does not name the file',
    async (reason, path) => {
      const fault: unknown = await startService({ settings: { 'Server:ApiKeyFile': path } }).catch(
        (error: unknown) => error,
      );
      expect(String(fault)).toContain(`The file that Server:ApiKeyFile names ${reason}.`);
      expect(String(fault)).not.toContain(path);
    },
  );

  test('C04: a file of them that goes missing later refuses with 503', async () => {
    const path = fileOf('keys.json', JSON.stringify({ keys: [{ id: 'a', hash: hashApiKey('a') }] }));
    let skipped = 0;
    const clock = { now: () => Date.now() + skipped };
    const settings = { 'Server:ApiKeyFile': path, 'Server:LogLevel': 'error' };
    const service = await startService({ settings, world: { ...machine, clock } });
    const headers = { 'x-svc-api-key': 'a' };
    expect((await service.call({ ...read, headers })).status).toBe(404);
    rmSync(path);
    skipped = 3_600_000;
    expect((await service.call({ ...read, headers })).status).toBe(503);
    await service.close();
  });

  test('C01: one in clear is warned of outside Development', async () => {
    const production = {
      Environment: 'Production',
      'Server:CanonicalAccess:AllowedAudiences:0': serviceAudience,
      'Server:LogLevel': 'warning',
      ...grants,
    };
    for (const [settings, warned] of [
      [{ ...production, 'Server:ApiKey': 'clear-key' }, true],
      [{ ...production, 'Server:ApiKeys:0': 'clear-key' }, true],
      [{ ...production, 'Server:ApiKeyHashes:0': hashApiKey('clear-key') }, false],
      [{ 'Server:ApiKey': 'clear-key', 'Server:LogLevel': 'warning' }, false],
    ] as const) {
      const service = await startService({ settings });
      expect(service.lines.some((line) => line.includes('in clear'))).toBe(warned);
      expect(service.lines.join('\n')).not.toContain('clear-key');
      await service.close();
    }
  });
});

describe('F11: Development on loopback', () => {
  const named = {
    'Server:CanonicalAccess:AuthenticationMode': 'development-header',
    ...grants,
  };
  const from = (host: string) => ({
    ...read,
    headers: { host, 'x-svc-development-identity': 'a@b.example' },
  });

  test.each<[string, Record<string, string>]>([
    ['open', {}],
    ['that believes names', named],
  ])('%s does not answer a page whose own name leads here', async (_, settings) => {
    const service = await startService({ settings });
    expect((await service.call(from('rebound.evil.example:5220'))).json()).toMatchObject({
      status: 403,
      code: 'permission_denied',
    });
    for (const host of ['localhost:5220', '127.0.0.1:5220', '[::1]:5220', 'svc.localhost'])
      expect((await service.call(from(host))).status, host).toBe(404);
    for (const path of ['/health', '/readiness', '/'])
      expect((await service.call({ ...from('rebound.evil.example'), path })).status, path).toBe(200);
    await service.close();
  });

  test.each<[string, Record<string, string>]>([
    ['lets strangers in on purpose', { 'Server:AllowRemoteDevelopment': 'true' }],
    ['asks for a key', { 'Server:ApiKey': 'k' }],
  ])('answers under any name where it %s', async (_, settings) => {
    const service = await startService({ settings });
    const request = from('svc.lan:5220');
    const headers = { ...request.headers, 'x-svc-api-key': 'k' };
    expect((await service.call({ ...request, headers })).status).toBe(404);
    await service.close();
  });
});
