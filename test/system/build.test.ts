import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../emulator/firestore.ts';
import description from '../../package.json' with { type: 'json' };
import { type BuildReport, buildFunctions } from '../../scripts/build.ts';
import { halfSentCommit, Program, refusesConnections, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-build-'));
const framework = '@google-cloud/functions-framework';
const installed = join(root, 'node_modules', framework);
let report: BuildReport;

beforeAll(async () => {
  report = await buildFunctions(join(folder, 'functions'));
  const scope = join(report.outdir, 'node_modules/@google-cloud');
  mkdirSync(scope, { recursive: true });
  symlinkSync(installed, join(report.outdir, 'node_modules', framework));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the platform starts it: the framework's command in the deployed folder. */
async function serve(target: string, env: Readonly<Record<string, string>> = {}) {
  const port = await freePort();
  const development = {
    SVC_ENVIRONMENT: 'Development',
    SVC_CANONICAL_STORE_PROVIDER: 'sqlite',
    SVC_DATA_DIR: folder,
  };
  const program = new Program([join(installed, 'build/src/main.js'), '--target', target], {
    cwd: report.outdir,
    env: { PORT: String(port), ...development, ...env },
  });
  return { program, port, url: `http://127.0.0.1:${port}` };
}

describe('the bundle', () => {
  test('is within its budgets and holds nothing that it should not', () => {
    expect(report.faults).toEqual([]);
  });

  test('names what it needs installed, exactly', () => {
    const deployed: unknown = JSON.parse(readFileSync(join(report.outdir, 'package.json'), 'utf8'));
    expect(deployed).toMatchObject({
      type: 'module',
      main: 'index.js',
      dependencies: { [framework]: description.dependencies[framework] },
    });
  });

  test('holds nothing of the machine that made it', () => {
    const text = readFileSync(join(report.outdir, 'index.js'), 'utf8');
    expect(text).not.toContain(root);
    expect(text).not.toContain('devDependencies');
  });
});

describe('the bundle behind functions-framework', () => {
  test('serves the function that it is told to', async () => {
    const { program, url } = await serve('server');
    await using _ = program;
    await program.says(/URL: /);
    const health = await fetch(`${url}/health`);
    expect(await health.json()).toMatchObject({ status: 'ok', version: description.version });
    expect((await fetch(`${url}/canonical/tenants/t/outbox/query`, { method: 'POST' })).status).toBe(404);
  });

  test('serves the pages of /docs from its own folder', async () => {
    const { program, url } = await serve('server');
    await using _ = program;
    await program.says(/URL: /);
    const page = await (await fetch(`${url}/docs`)).text();
    const [, path = ''] = /<script src="(\/docs\/reference-[^"]+)"/.exec(page) ?? [];
    expect((await (await fetch(`${url}${path}`)).arrayBuffer()).byteLength).toBeGreaterThan(1_000_000);
    expect(await (await fetch(`${url}/docs/databases.md`)).text()).toContain('<h1 id="databases">');
  });

  test('lets a request under way finish when the platform stops it', async () => {
    const { program, port } = await serve('canonical');
    await using _ = program;
    await program.says(/URL: /);
    const held = await halfSentCommit(port, 't');
    program.signal('SIGTERM');
    await refusesConnections(port);
    expect(await held.finish()).toContain('HTTP/1.1 200 OK');
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });

  test('serves runs and the workers of them', async () => {
    const { program, url } = await serve('execution', {
      ExecutionRuntime__ExternalHandlers__0__HandlerId: 'test.handler',
    });
    await using _ = program;
    await program.says(/URL: /);
    const post = (path: string, body: object) =>
      fetch(`${url}/execution/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const started = (await (await post('runs', { handlerId: 'test.handler' })).json()) as { id: string };
    const leased = await post('workers/leases', { workerId: 'w', handlerIds: ['test.handler'] });
    const { leaseKey, leaseToken } = (await leased.json()) as { leaseKey: string; leaseToken: string };
    const proof = { leaseKey, leaseToken, workerId: 'w' };
    expect((await post('workers/leases/complete', { ...proof, result: { result: 1 } })).status).toBe(200);
    const run = await fetch(`${url}/execution/runs/${started.id}`);
    expect(await run.json()).toMatchObject({ status: 'succeeded', result: 1 });
    expect((await fetch(`${url}/canonical/tenants/t/outbox/query`, { method: 'POST' })).status).toBe(404);
  });

  test('does not start open to everybody', async () => {
    const { program } = await serve('canonical', { SVC_ENVIRONMENT: 'Production' });
    await using _ = program;
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain('does not start without a policy');
  });

  test('does not start as what it is not', async () => {
    const { program } = await serve('nothing');
    await using _ = program;
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain('FUNCTION_TARGET must be server or canonical or execution');
  });
});
