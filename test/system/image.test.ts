import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { buildServer } from '../../scripts/build/server.ts';
import { type Container, Image, imageMissing, type RunOptions } from '../support/image.ts';

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

  beforeAll(async () => {
    const { archive } = await buildServer(join(folder, 'dist'));
    image = Image.build(folder, archive, description.version);
    settings = owned('settings', 10001);
    await using made = image.run({
      entrypoint: 'svc',
      args: ['init', '--tenant', 'acme', '--product', 'shop', '--yes'],
      volumes: { '/etc/svc': settings },
    });
    expect(await made.exit, made.stderr).toEqual({ code: 0, signal: null });
  });

  const serve = (data: string, options: RunOptions = {}) =>
    image.run({
      args: ['--Server:Port=0'],
      volumes: { '/etc/svc:ro': settings, '/var/lib/svc': data },
      ...options,
    });

  /** The address of a server once it is ready. */
  async function addressOf(server: Container): Promise<string> {
    const [, port = '', environment] = await server.says(/is ready at http:\/\/[^:]+:(\d+) \((\w+)/);
    expect(environment).toBe('Production');
    return `http://127.0.0.1:${port}`;
  }

  async function commit(url: string): Promise<unknown> {
    const token = join(settings, 'app.token');
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
      volumes: { '/var/lib/svc': join(folder, 'of-another'), '/etc/svc:ro': readable() },
    });
    const url = await addressOf(server);
    expect(await commit(url)).toMatchObject({ replayed: false });
    expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toMatch(/^Uid:\t12345\t/m);
  });

  /** The settings for another user, as an engine mounts them for that user. */
  function readable(): string {
    const path = owned('settings-of-another', 12345);
    for (const name of ['svcsettings.json', 'identity-keys.json']) {
      writeFileSync(join(path, name), readFileSync(join(settings, name)));
      chownSync(join(path, name), 12345, 12345);
    }
    return path;
  }

  test('says by its health check whether it answers', async () => {
    const [, entrypoint = '', ...args] = image.config.Healthcheck.Test;
    const healthy = async (port: string) => {
      await using check = image.run({ entrypoint, args, env: { PORT: port } });
      return (await check.exit).code;
    };
    await using server = serve(owned('checked', 10001));
    const { port } = new URL(await addressOf(server));
    expect(await healthy(port)).toBe(0);
    server.signal('SIGTERM');
    await server.exit;
    expect(await healthy(port)).toBe(1);
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
