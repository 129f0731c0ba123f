import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { infraFolder } from '../infra/configuration.ts';
import { waysToRun } from '../infra/ways-to-run.ts';
import { furnish } from './guides.ts';
import { Program, root } from './program.ts';

/** The worker of the Compose example, beside a server in Production. */

const { services, settings } = waysToRun().compose;
const environment = services['worker']?.environment ?? {};
const folder = mkdtempSync(join(tmpdir(), 'svc-compose-worker-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [app, etc] = [join(folder, 'worker'), join(folder, 'etc')];

async function startServer(): Promise<{ server: Program; url: string }> {
  const words = '--tenant acme --product claims --handler claim.assess --port 0 --yes'.split(' ');
  await using init = new Program([join(root, 'cli/main.ts'), 'init', '--out', etc, ...words]);
  expect(await init.exit, init.stderr).toEqual({ code: 0, signal: null });
  const server = new Program([join(root, 'functions/embedded.ts')], { cwd: etc });
  const [, url = ''] = await server.says(/is ready at (\S+) \(Production\)/);
  return { server, url };
}

const starter = `export const handlers = { 'claim.assess': ({ payload }) => ({ assessed: payload.claim }) };`;

test('is granted by the settings, and asks the server of the example', () => {
  const { Server, ExecutionRuntime } = JSON.parse(settings) as {
    readonly Server: { readonly ExecutionAccess: { readonly IdentityPolicies: readonly object[] } };
    readonly ExecutionRuntime: object;
  };
  const policy = { WorkerId: environment['WORKER_ID'], AllowedOperations: ['worker'] };
  expect(Server.ExecutionAccess.IdentityPolicies).toContainEqual(expect.objectContaining(policy));
  expect(ExecutionRuntime).toMatchObject({ ExternalHandlers: [{ HandlerId: 'claim.assess' }] });
  expect(environment['SVC_BASE_URL']).toBe('http://server:5220');
  expect(Object.keys(services)).toContain('server');
});

test('executes a run with a token of a file, and stops by SIGTERM', async () => {
  const { server, url } = await startServer();
  await using _ = server;
  mkdirSync(app);
  await furnish(app);
  copyFileSync(join(infraFolder, 'compose/start.mjs'), join(app, 'start.ts'));
  writeFileSync(join(app, 'worker.ts'), starter);
  const token = join(folder, 'token');
  copyFileSync(join(etc, 'worker.token'), token);
  const env = { ...environment, SVC_BASE_URL: url, WORKER_ID: 'worker-1', TOKEN_FILE: token };
  await using worker = new Program(['start.ts'], { cwd: app, env });
  const call = async (path: string, body?: object) => {
    const authorization = `Bearer ${readFileSync(join(etc, 'app.token'), 'utf8').trim()}`;
    const headers = { 'content-type': 'application/json', authorization };
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${url}${path}`, { headers, ...request });
    expect(answer.ok, await answer.clone().text()).toBe(true);
    return (await answer.json()) as { readonly id: string };
  };
  const scope = { productId: 'claims', tenantId: 'acme' };
  const { id } = await call('/execution/runs', {
    handlerId: 'claim.assess',
    payload: { claim: 'c-1' },
    scope,
  });
  const run = await Promise.race([
    call(`/execution/runs/${id}?waitSeconds=20`),
    worker.exit.then(() => worker.stderr),
  ]);
  expect(run, worker.stderr).toMatchObject({ status: 'succeeded', result: { assessed: 'c-1' } });
  worker.signal('SIGTERM');
  expect(await worker.exit, worker.stderr).toEqual({ code: 0, signal: null });
});
