import { execFileSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { buildServer } from '../../scripts/build/server.ts';
import { type Container, Image, imageMissing, type RunOptions } from '../support/image.ts';
import { root } from './program.ts';
import { releasedServer, releasedVersion } from './released-server.ts';

const modules = join(root, 'node_modules');

if (imageMissing !== undefined) console.warn(`The image is not built ${imageMissing}`);

// On the disk: the store of buildah copies the base for each layer, 700 MB, and the temporary folder of tests may be memory.
const folder = mkdtempSync('/var/tmp/svc-image-');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder that belongs to the user of a container. */
function owned(name: string, user: number): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, user, user);
  return path;
}

describe.skipIf(imageMissing !== undefined)(`the image ${imageMissing ?? ''}`, () => {
  let image: Image;
  let settings: string;
  let keys: string;

  beforeAll(async () => {
    const { archive } = await buildServer(join(folder, 'dist'));
    image = Image.build(folder, archive, description.version);
    [settings, keys] = [owned('settings', 10001), owned('keys', 10001)];
    await using made = image.run({
      entrypoint: 'svc',
      args: ['init', '--tenant', 'acme', '--product', 'shop', '--yes'],
      volumes: { '/etc/svc': settings },
    });
    expect(await made.exit, made.stderr).toEqual({ code: 0, signal: null });
    // The line of the page, in the folder of a reader.
    const [line = 'false'] = /^mv .*$/m.exec(readFileSync(join(root, 'docs/image.md'), 'utf8')) ?? [];
    execFileSync('sh', ['-euc', line], { cwd: folder });
  });

  const volumesOf = (data: string) => ({ '/etc/svc:ro': settings, '/var/lib/svc': data });
  const serve = (data: string, options: RunOptions = {}) =>
    image.run({
      env: { PORT: '0' },
      volumes: volumesOf(data),
      ...options,
    });

  /** The frozen server of the last release, readable by the user of a container. Its packages are mounted beside it. */
  function released(): string {
    const path = owned('released', 10001);
    cpSync(releasedServer(), path, { recursive: true });
    chownSync(path, 10001, 10001);
    mkdirSync(join(path, 'node_modules'));
    return path;
  }

  /** The address of a server once it is ready. */
  async function addressOf(server: Container): Promise<string> {
    const [, port = '', environment] = await server.says(/is ready at http:\/\/[^:]+:(\d+) \((\w+)/);
    expect(environment).toBe('Production');
    return `http://127.0.0.1:${port}`;
  }

  async function commit(url: string): Promise<unknown> {
    const token = join(keys, 'app.token');
    const answer = await fetch(`${url}/canonical/tenants/acme/transactions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${readFileSync(token, 'utf8').trim()}`,
      },
      body: JSON.stringify({
        tenantId: 'acme',
        idempotencyKey: 'first',
        outbox: [{ topic: 'a', key: 'k', payload: {} }],
      }),
    });
    expect(answer.status, await answer.clone().text()).toBe(200);
    return answer.json();
  }

  test('names a user by number, the signal, the volume and its origin, and holds no secret', () => {
    const { config } = image;
    expect(config).toMatchObject({
      User: '10001:10001',
      StopSignal: 'SIGTERM',
      Volumes: { '/var/lib/svc': {} },
      ExposedPorts: { '5220/tcp': {} },
    });
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.version': description.version,
      'org.opencontainers.image.licenses': description.license,
    });
    expect(config.Env.filter((line) => /key|token|secret|password/i.test(line))).toEqual([]);
  });

  test('serves from a folder without the signing key and without tokens, whose key signs the next one', async () => {
    expect(readdirSync(settings).sort()).toEqual([
      'identity-keys.json',
      'svcsettings.json',
      'svcsettings.schema.json',
    ]);
    const page = readFileSync(join(root, 'docs/image.md'), 'utf8');
    const [, line = ''] = /^ {2}(identity-token .*)$/m.exec(page) ?? [];
    rmSync(join(keys, 'app.token'));
    await using signed = image.run({
      entrypoint: 'svc',
      args: line.split(' '),
      volumes: { '/etc/svc:ro': settings, '/keys': keys },
    });
    expect(await signed.exit, signed.stderr).toEqual({ code: 0, signal: null });
    // The commits of the other tests send it.
    expect(existsSync(join(keys, 'app.token'))).toBe(true);
  });

  test('does not start without settings, and names the command that writes them', async () => {
    await using server = image.run();
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(server.stderr).toContain('svc init writes one');
  });

  test('serves from a read-only root as its own user, and keeps its data over a restart', async () => {
    const data = owned('data', 10001);
    for (const replayed of [false, true]) {
      await using server = serve(data);
      const url = await addressOf(server);
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ version: description.version });
      expect(await commit(url)).toMatchObject({ replayed });
      const inside = `/proc/${server.pid}`;
      expect(readFileSync(`${inside}/status`, 'utf8')).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(() => writeFileSync(`${inside}/root/opt/svc/more`, '')).toThrow(/EROFS/);
      expect(existsSync(`${inside}/root/bin/sh`)).toBe(false);
      server.signal('SIGTERM');
      expect(await server.exit, server.stderr).toEqual({ code: 0, signal: null });
    }
  });

  test('serves as another user, whose the data are', async () => {
    await using server = serve(owned('of-another', 12345), {
      user: '12345:12345',
      volumes: {
        '/var/lib/svc': join(folder, 'of-another'),
        '/etc/svc:ro': copied('settings-of-another', 12345),
      },
    });
    const url = await addressOf(server);
    expect(await commit(url)).toMatchObject({ replayed: false });
    expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toMatch(/^Uid:\t12345\t/m);
  });

  /** A copy of the settings for a user, as an engine mounts them for that user. */
  function copied(name: string, user: number, change = (text: string) => text): string {
    const path = owned(name, user);
    for (const file of ['svcsettings.json', 'identity-keys.json']) {
      writeFileSync(join(path, file), change(readFileSync(join(settings, file), 'utf8')));
      chownSync(join(path, file), user, user);
    }
    return path;
  }

  test('says by its health check whether it answers, also where the settings name another port', async () => {
    const [, entrypoint = '', ...args] = image.config.Healthcheck.Test;
    const healthy = async (port: string) => {
      await using check = image.run({ entrypoint, args, env: { PORT: port } });
      return (await check.exit).code;
    };
    const elsewhere = copied('settings-of-a-port', 10001, (text) =>
      text.replace('"Server": {', '"Server": { "Port": 1,'),
    );
    expect(readFileSync(join(elsewhere, 'svcsettings.json'), 'utf8')).toContain('"Port": 1,');
    await using server = serve(owned('checked', 10001), {
      volumes: { '/etc/svc:ro': elsewhere, '/var/lib/svc': join(folder, 'checked') },
    });
    const { port } = new URL(await addressOf(server));
    expect(await healthy(port)).toBe(0);
    server.signal('SIGTERM');
    await server.exit;
    expect(await healthy(port)).toBe(1);
  });

  test('shares the file with a second container over the same volume', async () => {
    const data = owned('shared', 10001);
    await using first = serve(data);
    await using second = serve(data);
    expect(await commit(await addressOf(first))).toMatchObject({ replayed: false });
    expect(await commit(await addressOf(second))).toMatchObject({ replayed: true });
  });

  test('opens the data of the last release, which opens them again', async () => {
    const data = owned('of-the-last-release', 10001);
    const earlier = {
      entrypoint: 'node',
      args: ['/mnt/server.mjs'],
      volumes: { ...volumesOf(data), '/mnt:ro': released(), '/mnt/node_modules:ro': modules },
    };
    for (const [options, version, replayed] of [
      [earlier, releasedVersion, false],
      [{}, description.version, true],
      [earlier, releasedVersion, true],
    ] as const) {
      await using server = serve(data, options);
      const url = await addressOf(server);
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ version });
      expect(await commit(url)).toMatchObject({ replayed });
      server.signal('SIGTERM');
      expect(await server.exit, server.stderr).toEqual({ code: 0, signal: null });
    }
  });

  test('has the tool, which finds the settings', async () => {
    await using tool = image.run({
      entrypoint: 'svc',
      args: ['config', 'check'],
      volumes: { '/etc/svc:ro': settings },
    });
    expect(await tool.exit, tool.stderr).toEqual({ code: 0, signal: null });
    expect(tool.stdout).toContain('The configuration has no fault (Production).');
  });
});
