import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, type TestContext, test } from 'vitest';
import { commit, Program, refusesConnections, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-local-cloud-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ready =
  /^The local cloud is ready at (http:\/\/127\.0\.0\.1:(\d+)) \(server, canonical, execution; Firestore emulator at \S+:(\d+)\)$/m;

function start(env: Readonly<Record<string, string>> = {}, options: readonly string[] = []): Program {
  return new Program([join(root, 'emulator/main.ts'), ...options], {
    cwd: folder,
    env: { PORT: '0', ...env },
  });
}

/** Skips with the reason where there is no Firestore emulator. A run that must be complete does not skip. */
async function startOrSkip({ skip }: TestContext, options: readonly string[] = []) {
  const program = start({}, options);
  try {
    const [, url = '', port = '', firestore = ''] = await program.says(ready);
    return { program, url, port: Number(port), firestore: Number(firestore) };
  } catch (error) {
    const [reason] = /no Firestore emulator found.*|needs Java.*/.exec(program.stderr) ?? [];
    if (reason !== undefined && process.env.CI === undefined) skip(reason);
    throw error;
  }
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid), '-f', 'function-host']);
  return stdout.trim().split('\n').map(Number);
}

describe('the local cloud', () => {
  test('serves every group on one address, over Firestore', async (context) => {
    const { program, url, port, firestore } = await startOrSkip(context);
    await using _ = program;
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({
      storage: { canonicalStore: 'firestore' },
    });
    expect(await (await fetch(`${url}/readiness`)).json()).toMatchObject({ ready: true });
    expect(await (await fetch(`${url}/docs`)).text()).toContain('API reference');
    const first = await commit(url, 't', 'once');
    expect(first.status, await first.clone().text()).toBe(200);
    expect(await first.json()).toMatchObject({ replayed: false });
    expect(await (await commit(url, 't', 'once')).json()).toMatchObject({ replayed: true });
    const started = await fetch(`${url}/execution/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"handlerId":"nobody"}',
    });
    // The function of runs keeps them in the same database; there is no such handler.
    expect(await started.json()).toMatchObject({ code: 'handler_missing' });
    expect(await (await fetch(`${url}/execution/runs`)).json()).toMatchObject([{ status: 'rejected' }]);
    // What the functions refuse reaches them as it was sent.
    const refused = await fetch(`${url}/canonical/tenants/a%2Fb/outbox/query`, {
      method: 'POST',
      body: '{}',
    });
    expect(await refused.json()).toMatchObject({ status: 400, code: 'invalid_path_segment' });
    expect(await (await fetch(`${url}/nothing`)).json()).toMatchObject({
      status: 404,
      code: 'route_not_found',
    });
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    await refusesConnections(port);
    await refusesConnections(firestore);
  });

  test('asks for tokens with --oidc, as the cloud would', async (context) => {
    const { program, url } = await startOrSkip(context, ['--oidc']);
    await using _ = program;
    const [, issuer = ''] = await program.says(/curl -s (http:\/\/\S+)\/token /);
    const token = async (email: string) => {
      const body = JSON.stringify({ email, audience: 'svc-local' });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${issuer}/token`, { method: 'POST', headers, body });
      return ((await answer.json()) as { id_token: string }).id_token;
    };
    const statusFor = async (authorization: string | undefined) => {
      const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
      const body = JSON.stringify({ idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', payload: {} }] });
      const path = `${url}/canonical/tenants/t/transactions`;
      return (await fetch(path, { method: 'POST', headers, body })).status;
    };
    expect(await statusFor(undefined)).toBe(401);
    expect(await statusFor(`Bearer ${await token('writer@local.example')}`)).toBe(200);
    expect(await statusFor(`Bearer ${await token('reader@local.example')}`)).toBe(403);
    expect(await statusFor(`Bearer ${await token('stranger@local.example')}`)).toBe(403);
    const runs = async (email: string) => {
      const headers = { authorization: `Bearer ${await token(email)}` };
      return (await fetch(`${url}/execution/runs`, { headers })).status;
    };
    expect((await fetch(`${url}/execution/runs`)).status).toBe(401);
    expect(await runs('writer@local.example')).toBe(200);
    expect(await runs('worker@local.example')).toBe(403);
    program.signal('SIGTERM');
    expect((await program.exit).code).toBe(0);
  });

  test('ends as a whole when one of its functions ends', async (context) => {
    const { program, port, firestore } = await startOrSkip(context);
    await using _ = program;
    const [child] = await childrenOf(program.process.pid);
    process.kill(child ?? 0, 'SIGKILL');
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toMatch(
      /^The function (server|canonical|execution) stopped: it ended with SIGKILL\.$/m,
    );
    await refusesConnections(port);
    await refusesConnections(firestore);
  });
});

test('says what is wrong when it cannot start', async () => {
  await using noJar = start({ FIRESTORE_EMULATOR_JAR: join(folder, 'none.jar') });
  expect((await noJar.exit).code).toBe(1);
  expect(noJar.stderr).toContain('no Firestore emulator found');
  await using wrong = new Program([join(root, 'emulator/main.ts'), 'up'], { cwd: folder });
  expect((await wrong.exit).code).toBe(1);
  expect(wrong.stderr).toContain('Options are written --Key=value');
});

test('--help', async () => {
  await using help = new Program([join(root, 'emulator/main.ts'), '--help'], { cwd: folder });
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('FIRESTORE_EMULATOR_HOST');
});
