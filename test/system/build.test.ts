import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogGroups } from '../../functions/compose/catalog-groups.ts';
import { functionNames } from '../../functions/compose/functions.ts';
import description from '../../package.json' with { type: 'json' };
import type { Installed } from '../../scripts/build/installed.ts';
import { type BuildReport, buildFunctions, packFunctions } from '../../scripts/build.ts';
import { hashesOf } from '../security/bundle.ts';
import { installLocked } from '../support/installed-functions.ts';
import { pythonMissing } from '../support/python.ts';
import { halfSentCommit, Program, refusesConnections, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-build-'));
const framework = '@google-cloud/functions-framework';
let report: BuildReport;

beforeAll(async () => {
  report = await buildFunctions(join(folder, 'functions'));
  const lock: unknown = JSON.parse(readFileSync(join(report.outdir, 'package-lock.json'), 'utf8'));
  installLocked(report.outdir, (lock as Installed['lock']).packages);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the platform starts it: the framework's command in the deployed folder, which lies outside of this project. */
function start(target: string, env: Readonly<Record<string, string>> = {}, words: readonly string[] = []) {
  const development = {
    SVC_ENVIRONMENT: 'Development',
    SVC_CANONICAL_STORE_PROVIDER: 'sqlite',
    SVC_DATA_DIR: folder,
  };
  const command = join('node_modules', framework, 'build/src/main.js');
  return new Program([...words, command, '--target', target], {
    cwd: report.outdir,
    env: { PORT: '0', ...development, ...env },
  });
}

/** Starts it and waits until it listens. */
async function serve(...given: Parameters<typeof start>) {
  const [target, env, words = []] = given;
  const program = start(target, env, ['--import', join(root, 'test/support/says-port.ts'), ...words]);
  const [, port = ''] = await program.says(/^port (\d+)$/m);
  return { program, port: Number(port), url: `http://127.0.0.1:${port}` };
}

describe('the bundle', () => {
  test('is within its budgets and holds nothing that it should not', () => {
    expect(report.faults).toEqual([]);
  });

  test('lists the exact packages that it needs', () => {
    const deployed: unknown = JSON.parse(readFileSync(join(report.outdir, 'package.json'), 'utf8'));
    expect(deployed).toMatchObject({
      type: 'module',
      main: 'index.js',
      dependencies: { [framework]: description.dependencies[framework] },
    });
  });

  test('pins all that its installation brings', () => {
    const words = ['ls', '--all', '--json'];
    const { status, stdout } = spawnSync('npm', words, { cwd: report.outdir, encoding: 'utf8' });
    const tree = JSON.parse(stdout) as { problems?: unknown; dependencies: object };
    expect(tree.problems).toBeUndefined();
    expect(Object.keys(tree.dependencies)).toEqual([framework]);
    expect(status).toBe(0);
    const lock = readFileSync(join(report.outdir, 'package-lock.json'), 'utf8');
    expect(lock).not.toMatch(/"(?:resolved|link|dev)":/);
    expect(lock).not.toContain('esbuild');
  });

  test('has the same bytes in every folder', async () => {
    const other = await buildFunctions(join(folder, 'another place', 'functions'));
    const hashes = hashesOf(other.outdir);
    const first = Object.entries(hashesOf(report.outdir)).filter(
      ([path]) => !path.startsWith('node_modules'),
    );
    expect(hashes).toEqual(Object.fromEntries(first));
    expect(Object.keys(hashes)).toEqual(expect.arrayContaining(['index.js', 'index.js.map']));
  });

  test.skipIf(pythonMissing !== undefined)('is packed as an archive with the same files', async () => {
    const archive = await packFunctions(report.outdir);
    const unpacked = join(folder, 'unpacked');
    execFileSync('python3', ['-m', 'zipfile', '-e', archive, unpacked]);
    const deployed = Object.entries(hashesOf(report.outdir)).filter(
      ([path]) => !path.startsWith('node_modules'),
    );
    expect(hashesOf(unpacked)).toEqual(Object.fromEntries(deployed));
    const again = await packFunctions(report.outdir);
    expect(readFileSync(again).equals(readFileSync(archive))).toBe(true);
  });

  test('names the sources in its maps by their path in the project', () => {
    const { sources } = JSON.parse(readFileSync(join(report.outdir, 'index.js.map'), 'utf8')) as {
      sources: string[];
    };
    expect(sources).toContain('functions/index.ts');
    expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
  });

  test('reports the bytes that each function reads until its first answer', () => {
    const names = report.starts.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['start of canonical', 'start of execution']));
    expect(report.starts.every(({ bytes, bytesMax }) => bytes > 1_000_000 && bytes <= bytesMax)).toBe(true);
  });

  test('holds nothing of the machine that made it', () => {
    const text = readFileSync(join(report.outdir, 'index.js'), 'utf8');
    expect(text).not.toContain(root);
    expect(text).not.toContain('devDependencies');
  });
});

const cloud = {
  ExecutionRuntime__Adapter: 'google',
  ExecutionRuntime__Google__ProjectId: 'demo-svc',
  ExecutionRuntime__Google__LocationId: 'local',
  ExecutionRuntime__Google__QueueId: 'svc-runs',
  ExecutionRuntime__Google__WorkerUrl: 'http://127.0.0.1:9/worker',
  ExecutionRuntime__Google__ServiceAccountEmail: 'tasks@example.test',
  ExecutionRuntime__Google__OidcAudience: 'http://127.0.0.1:9/worker',
  ExecutionRuntime__Google__RequireExplicitWorkerRoutes: 'false',
  HostedWorker__TaskAuthentication__AllowedAudiences__0: 'http://127.0.0.1:9/worker',
  HostedWorker__TaskAuthentication__AllowedPrincipals__0: 'tasks@example.test',
  CLOUD_TASKS_EMULATOR_HOST: '127.0.0.1:9',
  Mcp__Enabled: 'true',
};

/** The first request of each function and its answer. A new group adds its row. */
const firstRequests: Readonly<Record<string, readonly [method: string, path: string, status: number]>> = {
  server: ['GET', '/health', 200],
  canonical: ['POST', '/canonical/tenants/t/outbox/query', 200],
  execution: ['GET', '/execution/runs', 200],
  collections: ['GET', '/collections', 200],
  records: ['GET', '/collections/c/records/p/r', 404],
  objects: ['GET', '/objects/reports', 200],
  artifacts: ['POST', '/ingest/record-artifact', 415],
  embeddings: ['GET', '/embedding-providers', 200],
  graph: ['GET', '/graph/provider-shapes', 200],
  rag: ['GET', '/rag/ingestion/jobs', 200],
  retrieval: ['GET', '/retrieval/profiles', 200],
  providers: ['GET', '/providers', 200],
  traces: ['GET', '/traces', 200],
  worker: ['GET', '/health', 200],
  reconcile: ['POST', '/', 200],
  prune: ['POST', '/', 200],
  mcp: ['GET', '/mcp', 405],
};

describe('each function from an empty folder', () => {
  test('has a first request here', () => {
    expect(Object.keys(firstRequests).sort()).toEqual(
      [...catalogGroups.map(({ name }) => name), ...functionNames].sort(),
    );
  });

  test.each(Object.keys(firstRequests))('%s answers its first request', async (target) => {
    const [method, path, status] = firstRequests[target] ?? ['GET', '/', 200];
    const { program, url } = await serve(target, cloud);
    await using _ = program;
    const answer = await fetch(`${url}${path}`, { method });
    expect(await answer.text()).not.toContain('Internal Server Error');
    expect(answer.status).toBe(status);
  });
});

describe('the bundle behind functions-framework', () => {
  test('names the sources where it logs a failure', async () => {
    // Gone when the first request begins: what began before has used it.
    const withoutController = [
      "data:text/javascript,import { subscribe } from 'node:diagnostics_channel';",
      "subscribe('http.server.request.start', () => { delete globalThis.AbortController; });",
    ].join(' ');
    const { program, url } = await serve('server', {}, ['--import', withoutController]);
    await using _ = program;
    await fetch(`${url}/health`).catch(() => undefined);
    await program.exit;
    expect(program.stdout).toMatch(
      /"failure":"ReferenceError[^"]* \(functions\/http\/exchange\.ts:\d+:\d+\)/,
    );
  });

  test('serves only the chosen function', async () => {
    const { program, url } = await serve('server');
    await using _ = program;
    const health = await fetch(`${url}/health`);
    expect(await health.json()).toMatchObject({ status: 'ok', version: description.version });
    expect((await fetch(`${url}/canonical/tenants/t/outbox/query`, { method: 'POST' })).status).toBe(404);
  });

  test('serves the pages of /docs from its own folder', async () => {
    const { program, url } = await serve('server');
    await using _ = program;
    const page = await (await fetch(`${url}/docs`)).text();
    const [, path = ''] = /<script src="(\/docs\/reference-[^"]+)"/.exec(page) ?? [];
    expect((await (await fetch(`${url}${path}`)).arrayBuffer()).byteLength).toBeGreaterThan(1_000_000);
    expect(await (await fetch(`${url}/docs/databases`)).text()).toContain('<h1 id="databases">');
    const schema = await fetch(`${url}/docs/reference/svcsettings.schema.json`);
    expect(await schema.json()).toMatchObject({ title: 'Settings of svc' });
    expect(await (await fetch(`${url}/docs/openapi.json`)).text()).toContain('"x-codeSamples"');
    expect((await fetch(`${url}/llms-full.txt`)).status).toBe(200);
  });

  test('lets a request under way finish when the platform stops it', async () => {
    const { program, port } = await serve('canonical');
    await using _ = program;
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
    const post = (path: string, body: object) =>
      fetch(`${url}/execution/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const started = (await (await post('runs', { handlerId: 'test.handler' })).json()) as { id: string };
    const leased = await post('workers/leases', {
      workerId: 'w',
      handlerIds: ['test.handler'],
      ttlSeconds: 600,
    });
    const { leaseKey, leaseToken } = (await leased.json()) as { leaseKey: string; leaseToken: string };
    const proof = { leaseKey, leaseToken, workerId: 'w' };
    expect((await post('workers/leases/complete', { ...proof, result: { result: 1 } })).status).toBe(200);
    const run = await fetch(`${url}/execution/runs/${started.id}`);
    expect(await run.json()).toMatchObject({ status: 'succeeded', result: 1 });
    expect((await fetch(`${url}/canonical/tenants/t/outbox/query`, { method: 'POST' })).status).toBe(404);
  });

  test('does not start open to everybody', async () => {
    await using program = start('canonical', { SVC_ENVIRONMENT: 'Production' });
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain('does not start without a policy');
  });

  test('does not start with an unknown target', async () => {
    await using program = start('nothing');
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain(
      'FUNCTION_TARGET must be server or canonical or execution or collections or records',
    );
  });
});
