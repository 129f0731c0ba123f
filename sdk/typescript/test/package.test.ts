import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import catalog from '../../../contracts/public-sdk-surface.json' with { type: 'json' };
import root from '../../../package.json' with { type: 'json' };
import { startServer } from '../../../test/support/server-process.ts';
import description from '../package.json' with { type: 'json' };
import { VERSION } from '../src/index.ts';
import { hangUp, json, problem, Stage } from './stage.ts';

const run = promisify(execFile);
const sdk = resolve(import.meta.dirname, '..');
const bin = resolve(sdk, '../../node_modules/.bin');
const folder = mkdtempSync(join(tmpdir(), 'sdk-package-'));
/**
 * Of these, conditions of reads and deletions take 400 bytes, the places of values that cannot be sent 1,300, and the targets
 * and traces of errors 200.
 */
const RUNTIME_MAX = 23_200;
/** The average of all operations, so that the limit follows the contract and stays close. */
const OPERATION_MAX = 264;
/** The package in its published form. */
const installed = join(folder, 'node_modules/@svc-runtime/client');
/** The output of `npm pack`. */
let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };

beforeAll(async () => {
  mkdirSync(installed, { recursive: true });
  for (const file of ['package.json', 'README.md', 'api.md', 'LICENSE'])
    cpSync(join(sdk, file), join(installed, file));
  await run(join(bin, 'tsc'), ['-p', sdk, '--outDir', join(installed, 'dist')]);
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: installed,
  });
  [packed] = JSON.parse(stdout) as [typeof packed];
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The examples of the README, in order; worker examples need Node. */
const allExamples = [...readFileSync(join(sdk, 'README.md'), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, text = '']) => text,
);
const ofWorkers = (text: string) => text.includes('@svc-runtime/client/worker');
const examples = allExamples.filter((text) => !ofWorkers(text));
const workerExamples = allExamples.filter(ofWorkers);

describe('the package', () => {
  test('is of the release, which package.json of the project names', () => {
    expect([description.version, VERSION]).toEqual([root.version, root.version]);
  });

  test('is private, without dependencies, under the licence of the project', () => {
    expect(description).toMatchObject({
      private: true,
      type: 'module',
      license: root.license,
      sideEffects: false,
    });
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'scripts']) {
      expect(description).not.toHaveProperty(kind);
    }
    expect(readFileSync(join(sdk, 'LICENSE'))).toEqual(readFileSync(resolve(sdk, '../../LICENSE')));
  });

  test('has the name under which its README installs it', () => {
    const readme = readFileSync(join(sdk, 'README.md'), 'utf8');
    const [, pattern = ''] = /^npm install \/path\/to\/(\S+)\*\.tgz /m.exec(readme) ?? [];
    expect([pattern, packed.filename.startsWith(pattern)]).toEqual([expect.stringMatching(/client-$/), true]);
    expect(readme).toContain('](../../docs/guides/README.md)');
  });

  test('holds these files and no others', () => {
    // `npm run packages -- --only client --accept` writes the list.
    const pinned = readFileSync(resolve(sdk, '../../packages/client/files.txt'), 'utf8').trim().split('\n');
    const found = packed.files.map(({ path }) => path);
    expect([...found, 'CHANGELOG.md'].toSorted()).toEqual(pinned.toSorted());
    for (const group of Object.keys(catalog.groups))
      expect(found).toContain(`dist/generated/clients/${group}.js`);
  });
});

const consumer = `
import { ConflictError, type Problem, SvcClient, type SvcError, VERSION, type World } from '@svc-runtime/client';
interface Claim { readonly status: string; readonly lines: readonly { readonly cents: number }[] }
declare const claim: Claim;
declare const error: SvcError;
const client = new SvcClient({ baseUrl: 'https://x.example', token: async () => 't', headers: { a: null } });
export const made = client.commitCanonicalTransaction('t', {
  idempotencyKey: 'k',
  mutations: [{ document: { tenantId: 't', documentType: 'c', id: '1', schemaVersion: '1', data: claim } }],
  outbox: [{ topic: 't', key: 'k', payload: claim }],
});
// @ts-expect-error: the key is the caller's to give
client.commitCanonicalTransaction('t', { mutations: [] });
// @ts-expect-error: a misspelt member is refused by the compiler, as it is by the service
client.queryCanonicalDocuments('t', { limt: 5 });
// @ts-expect-error: no key is taken here
client.leaseCanonicalOutbox('t', { consumerId: 'c' }, { idempotencyKey: 'k' });
export const code: string | null = error instanceof ConflictError ? error.code : VERSION;
export type Used = [Problem, World];
`;

describe('a program that compiles against it', () => {
  test.each([
    ['nodenext', 'nodenext', ['es2022', 'dom']],
    ['esnext', 'bundler', ['es2022', 'dom', 'dom.iterable']],
  ])('finds its types: %s, %s', async (module, moduleResolution, lib) => {
    const place = join(folder, moduleResolution);
    mkdirSync(place);
    writeFileSync(join(place, 'package.json'), '{"type":"module"}');
    writeFileSync(join(place, 'consumer.ts'), consumer);
    writeFileSync(join(place, 'readme.ts'), `${examples.join('\n')}\nexport { some };\n`);
    const compilerOptions = {
      module,
      moduleResolution,
      lib: [...lib, 'dom.asynciterable'],
      target: 'es2022',
      strict: true,
      noEmit: true,
      types: [],
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
    };
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const { stdout } = await run(join(bin, 'tsc'), ['-p', place]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });
});

test('a program with a worker finds its types beside those of Node', async () => {
  const place = join(folder, 'worker');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  writeFileSync(join(place, 'readme.ts'), workerExamples.join('\n'));
  const wrong = `import { createWorker } from '@svc-runtime/client/worker';
    // @ts-expect-error: a handler is a function
    createWorker({ workerId: 'w', handlers: { a: 1 } });
    // @ts-expect-error: a worker needs an id
    createWorker({ handlers: {} });`;
  writeFileSync(join(place, 'wrong.ts'), wrong);
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [resolve(sdk, '../../node_modules/@types')],
    exactOptionalPropertyTypes: true,
  };
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const { stdout } = await run(join(bin, 'tsc'), ['-p', place]).catch((error: { stdout: string }) => error);
  expect([stdout, workerExamples.length]).toEqual(['', 3]);
});

describe('a browser', () => {
  test('gets it without anything of Node', async () => {
    const { outputFiles, metafile } = await build({
      stdin: { contents: "export * from '@svc-runtime/client';", resolveDir: folder },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: ['chrome120', 'firefox124', 'safari17.4'],
      metafile: true,
      write: false,
      logLevel: 'silent',
    });
    const text = outputFiles[0]?.text ?? '';
    expect(text).toContain('SvcClient');
    expect(text).not.toMatch(
      /\bnode:|\brequire\b|\bBuffer\b|__dirname|\bglobal\.|\bsetImmediate\b|(?<!globalThis\.)\bprocess\./,
    );
    expect(
      Object.keys(metafile.inputs).every(
        (path) => path.includes('@svc-runtime/client') || path === '<stdin>',
      ),
    ).toBe(true);
  });

  test('and a platform of web requests get the delivery handler without anything of Node', async () => {
    const { outputFiles } = await build({
      stdin: { contents: "export * from '@svc-runtime/client/web';", resolveDir: folder },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      write: false,
      logLevel: 'silent',
    });
    const text = outputFiles[0]?.text ?? '';
    expect(text).toContain('deliveryHandler');
    expect(text).not.toMatch(/\bnode:|\brequire\b|\bBuffer\b|\bprocess\b/);
  });

  test('loads few bytes', async () => {
    const whole = await minified("export * from '@svc-runtime/client';");
    expect(whole).toBeLessThan(RUNTIME_MAX + catalog.operations.length * OPERATION_MAX);
    // A program that uses only errors bundles only those.
    expect(await minified("export { ConflictError } from '@svc-runtime/client';")).toBeLessThan(1_500);
  });

  test.each(Object.keys(catalog.groups))(
    'loads only the group %s if a program uses no other',
    async (group) => {
      const inputs: string[] = [];
      await minified(`export * from '@svc-runtime/client/${group}';`, inputs);
      const generated = inputs.flatMap((path) => /\/generated\/\w+\/([\w-]+)\.js$/.exec(path)?.[1] ?? []);
      expect(new Set(generated)).toEqual(new Set([group]));
    },
  );
});

/** The size of a minified program that uses the package. `inputs` receives the bundled files. */
async function minified(contents: string, inputs: string[] = []): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    write: false,
  });
  const [output] = Object.values(metafile.outputs);
  inputs.push(
    ...Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [path] : [],
    ),
  );
  return outputFiles[0]?.contents.length ?? 0;
}

/** The oldest supported Node. */
const oldNode = await run('/usr/bin/node', ['--version']).then(
  ({ stdout }) => (stdout.startsWith('v20.') ? '/usr/bin/node' : null),
  () => null,
);

describe('on Node 20', () => {
  test.skipIf(oldNode === null)(
    'it works as it is built (skipped without a Node 20 in /usr/bin)',
    async () => {
      const committed = json({ replayed: false });
      await using stage = await Stage.open(
        hangUp,
        committed,
        json({ items: [1], continuationToken: 'a' }),
        json({ items: [2], continuationToken: null }),
        problem(404, 'not_found'),
        json({}),
      );
      const program = `
      import { NotFoundError, SvcClient } from '@svc-runtime/client';
      const client = new SvcClient();
      const once = await client.commitCanonicalTransaction('t', { idempotencyKey: 'k' });
      const all = await client.queryCanonicalDocuments('t').all();
      const missing = await client.health().catch((error) => error instanceof NotFoundError);
      const aborted = await client.health({ signal: AbortSignal.timeout(60_000) }).withResponse();
      console.log(JSON.stringify([once, all, missing, aborted.response.status]));
      console.log(client);`;
      writeFileSync(join(folder, 'program.mjs'), program);
      const env = { SVC_BASE_URL: stage.address, SVC_API_KEY: 'canary' };
      const { stdout } = await run(oldNode ?? '', [join(folder, 'program.mjs')], { env, cwd: folder });
      expect(stdout.split('\n')[0]).toBe('[{"replayed":false},[1,2],true,200]');
      expect(stdout).not.toContain('canary');
      expect(stage.seen.at(-1)?.headers['x-svc-api-key']).toBe('canary');
      expect(existsSync(join(installed, 'dist/index.js'))).toBe(true);
    },
  );
});

const nodes: readonly (string | null)[] = [process.execPath, oldNode];
test.each(nodes.filter((node) => node !== null))('a worker works as it is built, on %s', async (node) => {
  const its = { id: '1', handlerId: 'a', attempt: 1, payload: 7, cancellationRequested: false };
  const lease = { leaseKey: 'k', leaseToken: 'x'.repeat(64), workerId: 'w', run: its };
  let beats = 0;
  /** The handler blocks its event loop until this file records three lease renewals. */
  const renewed = join(folder, `renewed-${nodes.indexOf(node)}`);
  await using stage = await Stage.open((response, request) => {
    if (request.target.endsWith('/heartbeat') && (beats += 1) === 3) writeFileSync(renewed, '');
    json(request.target.endsWith('/complete') ? its : lease)(response, request);
  });
  const program = `
    import { createWorker } from '@svc-runtime/client/worker';
    import { existsSync } from 'node:fs';
    const turn = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    const block = () => { while (!existsSync(process.env.RENEWED)) turn(); };
    const handlers = { a: async ({ payload }) => { await null; block(); return payload; } };
    const worker = createWorker({ workerId: 'w', handlers, heartbeatSeconds: 0.05 });
    console.log(await worker.deliver({ runId: '1' }));
    await worker.stop();`;
  writeFileSync(join(folder, 'worker.mjs'), program);
  const { stdout } = await run(node, [join(folder, 'worker.mjs')], {
    env: { SVC_BASE_URL: stage.address, RENEWED: renewed },
    cwd: folder,
  });
  expect([stdout, beats > 2]).toEqual(['executed\n', true]);
  // A heartbeat may still arrive after the completion.
  const completed = stage.seen.find(({ target }) => target.endsWith('/complete'));
  expect(JSON.parse(String(completed?.body))).toMatchObject({ result: { result: 7 } });
});

test('the first example of the README does what it says', async () => {
  const server = await startServer({ SVC_DATA_DIR: join(folder, 'data') });
  const example = (examples[0] ?? '').replace('http://127.0.0.1:5220', server.address);
  writeFileSync(join(folder, 'example.mjs'), example);
  const said = async () => (await run(process.execPath, [join(folder, 'example.mjs')], { env: {} })).stdout;
  expect([await said(), await said()]).toEqual(['false 1\n', 'true 1\n']);
  await server.stop();
});
