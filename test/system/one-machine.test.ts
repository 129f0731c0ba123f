import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { readSettings } from '../../functions/config/load.ts';
import { connectionTimeouts } from '../../functions/http/connection.ts';
import description from '../../package.json' with { type: 'json' };
import { buildServer } from '../../scripts/build/server.ts';
import { bytesOf, secondsOf, wordsOf } from '../support/systemd-unit.ts';
import { embedded, Machine, unitOf } from './one-machine.ts';
import { halfSentCommit, type Program, refusesConnections, root } from './program.ts';
import { releasedServer, releasedVersion } from './released-server.ts';

/** The files of infra/embedded, and the commands of docs/production.md, on a machine below a folder. */

const { version } = description;
const folder = mkdtempSync(join(tmpdir(), 'svc-package-'));
const page = readFileSync(join(root, 'docs/production.md'), 'utf8');
let built: string;
beforeAll(async () => {
  built = (await buildServer(folder)).folder;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A command of the page, by its beginning. */
function command(beginning: string): string {
  const found = page.split('\n').find((line) => line.startsWith(beginning));
  if (found === undefined) throw new Error(`docs/production.md has no command ${beginning}`);
  return found;
}

const settings = readSettings({
  host: 'embedded',
  env: {},
  argv: ['--environment=Production'],
  readFile: () => undefined,
}).settings;

interface Server {
  readonly program: Program;
  readonly url: string;
  readonly token: string;
  commit(key: string): Promise<{ replayed: boolean }>;
  startRun(key: string): Promise<string>;
}

async function done(program: Program): Promise<string> {
  await using running = program;
  const { code } = await running.exit;
  expect([code, running.stderr]).toEqual([0, '']);
  return running.stdout;
}

async function started(machine: Machine): Promise<Server> {
  const program = machine.start('svc.service');
  const [, url = ''] = await program.says(/is ready at (\S+) \(Production\)/);
  const token = readFileSync(machine.at('/etc/svc/app.token'), 'utf8').trim();
  const call = async (path: string, body: object) => {
    const headers = {
      'content-type': 'application/json',
      'x-serverless-authorization': `Bearer ${token}`,
      'x-forwarded-for': '192.0.2.7',
    };
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return JSON.parse(text) as never;
  };
  const outbox = [{ topic: 'a', key: 'k', payload: {} }];
  return {
    program,
    url,
    token,
    commit: (idempotencyKey) => call('/canonical/tenants/acme/transactions', { idempotencyKey, outbox }),
    async startRun(idempotencyKey) {
      const scope = { productId: 'shop', tenantId: 'acme' };
      const request = { handlerId: 'refund.pay', payload: {}, idempotencyKey, scope };
      return ((await call('/execution/runs', request)) as { id: string }).id;
    },
  };
}

async function stopped({ program }: Server): Promise<void> {
  program.signal('SIGTERM');
  expect(await program.exit).toEqual({ code: 0, signal: null });
}

describe('a machine with the units of infra/embedded', () => {
  let machine: Machine;
  beforeEach(async () => {
    machine = new Machine();
    machine.install(built, version);
    // A port of its own, where the page has that of the proxy.
    await done(machine.svc(`${command('svc init --out /etc/svc')} --port 0 --yes`));
    return () => machine[Symbol.dispose]();
  });

  test('serves, and only its own account reads its data', async () => {
    const server = await started(machine);
    expect(await server.commit('first')).toMatchObject({ replayed: false });
    const mode = (path: string) => (statSync(machine.at(path)).mode & 0o777).toString(8);
    expect([mode('/var/lib/svc'), mode('/var/lib/svc/svc.canonical.sqlite')]).toEqual(['700', '600']);
    expect(mode('/etc/svc/identity-key.pem')).toBe('600');
    expect(server.program.stderr).not.toMatch(/WARNING/);
    await stopped(server);
  });

  test('lets a request finish after SIGTERM, before systemd would kill it', async () => {
    const server = await started(machine);
    const port = Number(new URL(server.url).port);
    const held = await halfSentCommit(port, 'acme', [`X-Serverless-Authorization: Bearer ${server.token}`]);
    server.program.signal('SIGTERM');
    await refusesConnections(port);
    expect(await held.finish()).toContain('HTTP/1.1 200 OK');
    expect(await server.program.exit).toEqual({ code: 0, signal: null });
  });

  test('keeps acknowledged writes over SIGKILL and a restart', async () => {
    const first = await started(machine);
    await first.commit('first');
    const run = await first.startRun('first');
    first.program.signal('SIGKILL');
    await first.program.exit;
    const second = await started(machine);
    expect(await second.commit('first')).toMatchObject({ replayed: true });
    expect(await second.startRun('first')).toBe(run);
    await stopped(second);
  });

  test('backs up while it serves; the restored backup answers, and later work is set aside', async () => {
    const server = await started(machine);
    await server.commit('before');
    const run = await server.startRun('before');
    const beside = Array.from({ length: 20 }, (_, n) => server.commit(`beside-${n}`));
    const [printed] = await Promise.all([done(machine.start('svc-backup.service')), ...beside]);
    expect(printed).toContain('svc-backups/');
    await server.commit('after');
    await stopped(server);
    const [backup = ''] = machine.names('/var/lib/svc-backups');
    const named = (line: string) => line.replace(/\d{8}T\d{6}Z/, backup);
    expect(await done(machine.svc(named(command('svc backup-verify'))))).toMatch(/complete +true/);
    await done(machine.svc(named(command('svc backup-restore'))));
    const restored = await started(machine);
    expect(await restored.commit('before')).toMatchObject({ replayed: true });
    expect(await restored.startRun('before')).toBe(run);
    expect(await restored.commit('after')).toMatchObject({ replayed: false });
    await stopped(restored);
    expect(machine.names('/var/lib/svc').filter((name) => name.includes('.before-'))).not.toEqual([]);
  });

  test('refuses to restore under a running server', async () => {
    const server = await started(machine);
    await server.commit('before');
    await done(machine.start('svc-backup.service'));
    const [backup = ''] = machine.names('/var/lib/svc-backups');
    await using refused = machine.svc(command('svc backup-restore').replace(/\d{8}T\d{6}Z/, backup));
    expect((await refused.exit).code).toBe(4);
    expect(refused.stderr).toContain('is in use');
    expect(await server.commit('before')).toMatchObject({ replayed: true });
    await stopped(server);
  });

  test('archives a tenant while it serves', async () => {
    const server = await started(machine);
    await server.commit('before');
    await server.startRun('before');
    await done(machine.start('svc-archive@.service', 'ExecStartPre', 'acme'));
    await done(machine.start('svc-archive@.service', 'ExecStart', 'acme'));
    await done(machine.start('svc-archive@.service', 'ExecStartPost', 'acme'));
    const [day = ''] = machine.names('/var/lib/svc-archives/acme');
    expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
    const made = `/var/lib/svc-archives/acme/${day}`;
    expect(machine.names(made)).toEqual(['documents', 'documents.json', 'runs', 'runs.json']);
    for (const part of ['documents', 'runs']) {
      expect(machine.names(`${made}/${part}`)).toContain('manifest.json');
      const { contentHash } = JSON.parse(readFileSync(machine.at(`${made}/${part}.json`), 'utf8')) as {
        contentHash: string;
      };
      expect(contentHash).toMatch(/^sha256:/);
    }
    await stopped(server);
  });

  test('keeps its data over an upgrade from the last release, and a roll back', async () => {
    const issuer = await startOidcIssuer();
    try {
      installReleased(machine);
      await writeSettings(machine, issuer);
      const old = await started(machine);
      expect(await versionOf(old)).toBe(releasedVersion);
      expect(await old.commit('old')).toMatchObject({ replayed: false });
      const run = await old.startRun('old');
      await stopped(old);
      machine.use(version);
      const next = await started(machine);
      expect(await versionOf(next)).toBe(version);
      expect(await next.commit('old')).toMatchObject({ replayed: true });
      expect(await next.startRun('old')).toBe(run);
      await next.commit('next');
      await stopped(next);
      machine.use(releasedVersion);
      const back = await started(machine);
      expect(await back.commit('next')).toMatchObject({ replayed: true });
      expect(await back.startRun('old')).toBe(run);
      await stopped(back);
    } finally {
      await issuer.stop();
    }
  });
});

async function versionOf({ url }: Server): Promise<unknown> {
  return ((await (await fetch(`${url}/health`)).json()) as { version: unknown }).version;
}

/** The frozen server of the last release, in the place of its package. */
function installReleased(machine: Machine): void {
  const bin = machine.at(`/opt/svc/${releasedVersion}/bin`);
  mkdirSync(bin, { recursive: true });
  const run = `exec '${process.execPath}' '${join(releasedServer(), 'server.mjs')}' "$@"`;
  writeFileSync(join(bin, 'svc-server'), `#!/bin/sh\n${run}\n`, { mode: 0o755 });
  machine.use(releasedVersion);
}

/** The settings of this release with an issuer at an address: the release before it starts with them, too. */
async function writeSettings(machine: Machine, issuer: OidcIssuer): Promise<void> {
  const [audience, email] = ['https://svc.shop.example', 'app@shop.example'];
  const own = `--issuer ${issuer.issuer} --key-set-url ${issuer.keySetUrl} --audience ${audience} --principal ${email}`;
  machine.use(version);
  await done(machine.svc(`${command('svc init --out /etc/svc')} --port 0 --yes --force ${own}`));
  machine.use(releasedVersion);
  writeFileSync(machine.at('/etc/svc/app.token'), await issuer.mint({ audience, email }));
}

describe('the units', () => {
  const names = readdirSync(embedded).filter((name) => /\.(service|timer)$/.test(name));
  const service = unitOf('svc.service')['Service'] ?? {};
  const [analyze, why] = systemdAnalyze();

  test('give the server longer than its drain, and memory beyond its requests', () => {
    expect(secondsOf(service['TimeoutStopSec']?.[0] ?? '')).toBeGreaterThanOrEqual(
      settings.server.drainSeconds + 10,
    );
    expect(bytesOf(service['MemoryMax']?.[0] ?? '')).toBeGreaterThan(2 * settings.server.bytesInFlightMax);
    expect(service['Restart']).toEqual(['always']);
  });

  test('each timer starts a service of its name', () => {
    const timers = names.filter((name) => name.endsWith('.timer'));
    expect(timers).toHaveLength(2);
    for (const timer of timers) expect(names).toContain(timer.replace('.timer', '.service'));
  });

  test.skipIf(!analyze)(`have no fault for systemd${why}`, () => {
    expect(verified({})).toBe('');
    const harmed = { 'svc.service': (text: string) => text.replace('RestartSec=', 'RestartSecs=') };
    expect(verified(harmed), 'a planted fault').toContain("Unknown key 'RestartSecs'");
  });

  test.skipIf(!analyze)(`are confined${why}`, () => {
    for (const name of names.filter((each) => each.endsWith('.service'))) {
      const words = ['security', '--offline=true', '--threshold=25', join(embedded, name)];
      const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
      expect([name, status], stdout).toEqual([name, 0]);
    }
  });

  /** The units below a root of their own, beside those of this machine. */
  function verified(changes: Readonly<Record<string, (text: string) => string>>): string {
    const place = mkdtempSync(join(folder, 'units-'));
    const units = join(place, 'etc/systemd/system');
    mkdirSync(units, { recursive: true });
    cpSync('/lib/systemd/system', join(place, 'usr/lib/systemd/system'), { recursive: true });
    for (const name of names) {
      const text = readFileSync(join(embedded, name), 'utf8');
      writeFileSync(join(units, name), changes[name]?.(text) ?? text);
      for (const path of programsOf(name)) {
        mkdirSync(join(place, path, '..'), { recursive: true });
        writeFileSync(join(place, path), '', { mode: 0o755 });
      }
    }
    const instances = names.map((name) => name.replace('@.', '@acme.'));
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', `--root=${place}`, ...instances], {
      cwd: units,
      encoding: 'utf8',
    });
    return stderr;
  }
});

function programsOf(name: string): string[] {
  const service = unitOf(name)['Service'] ?? {};
  const lines = ['ExecStart', 'ExecStartPre', 'ExecStartPost'].flatMap((key) => service[key] ?? []);
  return lines.map((line) => wordsOf(line)[0] ?? '');
}

function systemdAnalyze(): [present: boolean, why: string] {
  const { status, stdout } = spawnSync('systemd-analyze', ['--help'], { encoding: 'utf8' });
  const present = status === 0 && stdout.includes('--offline') && stdout.includes('--root');
  return [present, present ? '' : ' (skipped: there is no systemd-analyze of systemd 250 or later)'];
}

describe('the samples of proxies', () => {
  const samples = ['Caddyfile', 'nginx.conf'].map(
    (name) => [name, readFileSync(join(embedded, name), 'utf8')] as const,
  );

  test.each(samples)('%s lets through what the service takes, and waits as long as it does', (_, text) => {
    const [, most = ''] = /(?:max_size|client_max_body_size) (\d+)M(?:iB)?/i.exec(text) ?? [];
    expect(Number(most) * 2 ** 20).toBeGreaterThanOrEqual(limits.restoreBodyBytesMax);
    const [, wait = ''] = /(?:response_header_timeout|proxy_read_timeout) (\d+)s/.exec(text) ?? [];
    const longest = Math.max(
      limits.outboxWaitSecondsMax,
      limits.executionLeaseWaitSecondsMax,
      limits.executionRunWaitSecondsMax,
    );
    expect(Number(wait)).toBeGreaterThan(longest + 30);
    const [, idle = ''] = /(?:keepalive|keepalive_timeout) (\d+)s/.exec(text) ?? [];
    expect(Number(idle) * 1_000).toBeLessThan(connectionTimeouts.keepAliveMs);
  });

  test('nginx replaces the forwarded address, and passes the path unchanged', () => {
    const [, text = ''] = samples[1] ?? [];
    expect(text).toContain('proxy_set_header X-Forwarded-For $remote_addr;');
    expect(text).toMatch(/proxy_pass http:\/\/svc;/);
    expect(text).toContain('proxy_next_upstream off;');
  });

  const nginx = spawnSync('nginx', ['-v']).status === 0;
  test.skipIf(!nginx)(`nginx reads its sample${nginx ? '' : ' (skipped: there is no nginx)'}`, () => {
    const place = mkdtempSync(join(folder, 'nginx-'));
    const { status: made } = spawnSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=svc.example.com',
      '-keyout',
      join(place, 'privkey.pem'),
      '-out',
      join(place, 'fullchain.pem'),
    ]);
    expect(made).toBe(0);
    const text = (samples[1]?.[1] ?? '').replaceAll('/etc/letsencrypt/live/svc.example.com', place);
    writeFileSync(
      join(place, 'nginx.conf'),
      `pid ${place}/pid; error_log stderr; events {} http { access_log off; ${text} }`,
    );
    const { status, stderr } = spawnSync('nginx', ['-t', '-p', place, '-c', join(place, 'nginx.conf')], {
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
  });

  const caddy = spawnSync('caddy', ['version']).status === 0;
  test.skipIf(!caddy)(`Caddy reads its sample${caddy ? '' : ' (skipped: there is no caddy)'}`, () => {
    const words = ['validate', '--adapter', 'caddyfile', '--config', join(embedded, 'Caddyfile')];
    const { status, stderr } = spawnSync('caddy', words, { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});
