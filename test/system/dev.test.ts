import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { Program, refusesConnections, root } from './program.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-dev-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;
function fresh(files: Readonly<Record<string, string>> = {}): string {
  const path = join(folder, `${(folders += 1)}`);
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const entry = join(root, 'functions/embedded.ts');
const dev = (cwd: string, ...args: readonly string[]) =>
  new Program([entry, 'dev', '--port', '0', ...args], { cwd });

async function addressOf(program: Program): Promise<string> {
  const [, address = ''] = await program.says(/^ {2}api +(http:\/\/127\.0\.0\.1:\d+)$/m);
  return address;
}

async function post<T>(url: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as T;
}

const started = (address: string, handlerId: string, payload: unknown, waitSeconds = 20) =>
  post<ExecutionRun>(`${address}/execution/runs`, { handlerId, payload, waitSeconds });

async function ended(address: string, { id }: ExecutionRun): Promise<ExecutionRun> {
  for (;;) {
    const answer = await fetch(`${address}/execution/runs/${id}?waitSeconds=20`);
    const run = (await answer.json()) as ExecutionRun;
    if (run.completedAtUtc !== null) return run;
  }
}

/** The failure comes from the client, of which the folder has no copy. */
const worker = (greeting: string, more = '') => `
import { RunFailure, type RunContext } from '@svc-runtime/client/worker';
import { greet } from './greet.ts';
export const handlers = {
  hello: async ({ payload, waitForExternalEvent }: RunContext) => {
    if (payload === null) throw new RunFailure('validation', 'no name');
    if (payload === 'parked') await waitForExternalEvent('go', { timeoutSeconds: 600 });
    return greet('${greeting}', String(payload));
  },${more}
};
`;
const greet = (mark: string) =>
  `export const greet = (word: string, name: string) => \`\${word}, \${name}${mark}\`;\n`;

describe('svc-server dev', () => {
  test('runs the handlers of a file, reloads them alone, and parked runs go on with the new code', async () => {
    const cwd = fresh({ 'worker.ts': worker('Hello'), 'greet.ts': greet('!') });
    await using program = dev(cwd, 'worker.ts');
    const address = await addressOf(program);
    await program.says(/^ {2}worker +worker\.ts: hello \(a change reloads it\)$/m);
    await program.says(new RegExp(`^  curl -s ${address}/execution/runs `, 'm'));
    // The service knew the handler before the address was shown.
    expect(await started(address, 'hello', 'Ada')).toMatchObject({
      status: 'succeeded',
      result: 'Hello, Ada!',
    });
    expect(await started(address, 'hello', null)).toMatchObject({ status: 'failed', error: 'no name' });
    const parked = await started(address, 'hello', 'parked', 0);
    writeFileSync(join(cwd, 'worker.ts'), worker('Bye', `\n  other: () => 'other',`));
    await program.says(/^worker\.ts is reloaded: hello, other$/m);
    expect(await started(address, 'other', 1)).toMatchObject({ status: 'succeeded', result: 'other' });
    writeFileSync(join(cwd, 'greet.ts'), greet('?'));
    await program.says(/reloaded[^]*^worker\.ts is reloaded: hello, other$/m);
    await post(`${address}/execution/runs/${parked.id}/events`, { name: 'go', payload: null });
    expect(await ended(address, parked)).toMatchObject({ status: 'succeeded', result: 'Bye, parked?' });
    expect((await fetch(`${address}/docs`)).status).toBe(200);
    expect((await fetch(`${address}/mcp`, { method: 'POST' })).status).not.toBe(404);
    program.signal('SIGINT');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    await refusesConnections(Number(new URL(address).port));
    expect(existsSync(join(cwd, '.svc'))).toBe(true);
  });

  test('with a file that does not run says why, serves, and takes the corrected file', async () => {
    const cwd = fresh({ 'worker.ts': 'export const handlers = {' });
    await using program = dev(cwd, 'worker.ts');
    await program.says(/^worker\.ts does not run: [^]*worker\.ts[^]*SyntaxError/m);
    const address = await addressOf(program);
    await program.says(/^ {2}worker +worker\.ts: not loaded; it waits for a change$/m);
    writeFileSync(join(cwd, 'worker.ts'), 'export const other = 1;\n');
    await program.says(/does not run: it exports no handlers/);
    writeFileSync(
      join(cwd, 'worker.ts'),
      'export default { crash: () => process.exit(3), fine: () => 1 };\n',
    );
    await program.says(/^worker\.ts is reloaded: crash, fine$/m);
    const crashed = await started(address, 'crash', 1, 0);
    await program.says(/does not run: its process ended with 3/);
    writeFileSync(join(cwd, 'worker.ts'), 'export default { crash: () => 2, fine: () => 1 };\n');
    await program.says(
      /ended with 3[^]*^worker\.ts is reloaded: crash, fine$|reloaded[^]*^worker\.ts is reloaded: crash, fine$/m,
    );
    expect(await started(address, 'fine', 1)).toMatchObject({ status: 'succeeded', result: 1 });
    expect(crashed.handlerId).toBe('crash');
  });

  test('replaces a file that never ends to load, and leaves nothing behind when it is killed', async () => {
    const cwd = fresh({
      'worker.ts': "console.log('begun'); await new Promise((never) => setInterval(never, 1e9));\n",
    });
    await using program = dev(cwd, 'worker.ts');
    await program.says(/^begun$/m);
    writeFileSync(join(cwd, 'worker.ts'), 'export const handlers = { quick: () => 1 };\n');
    await program.says(/^worker\.ts is reloaded: quick$/m);
    const address = await addressOf(program);
    expect(await started(address, 'quick', 1)).toMatchObject({ status: 'succeeded' });
    program.signal('SIGKILL');
    await refusesConnections(Number(new URL(address).port));
    // The output is open as long as a child has it.
    expect((await program.exit).signal).toBe('SIGKILL');
  });

  test('takes a first file that is missing, a stop while it loads, and a second stop of a handler that hears nothing', async () => {
    const cwd = fresh({ 'worker.mjs': "export { handlers } from './parts/handlers.mjs';\n" });
    await using program = dev(cwd, 'worker.mjs');
    await program.says(/^worker\.mjs does not run: [^]*Cannot find module '[^']*handlers\.mjs'/m);
    const address = await addressOf(program);
    mkdirSync(join(cwd, 'parts'));
    const deaf = "export const handlers = { deaf: () => { console.log('begun'); for (;;); } };\n";
    writeFileSync(join(cwd, 'parts/handlers.mjs'), deaf);
    await program.says(/^worker\.mjs is reloaded: deaf$/m);
    await started(address, 'deaf', 1, 0);
    await program.says(/^begun$/m);
    program.signal('SIGINT');
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 143, signal: null });
    await refusesConnections(Number(new URL(address).port));

    writeFileSync(
      join(cwd, 'slow.mjs'),
      "console.log('begun'); await new Promise((never) => setInterval(never, 1e9));\n",
    );
    await using loading = dev(cwd, 'slow.mjs');
    await loading.says(/^begun$/m);
    loading.signal('SIGINT');
    expect(await loading.exit).toEqual({ code: 0, signal: null });
    expect(loading.stdout).not.toContain('is ready');
  });

  test('says which handlers the service does not know, and gives a module no channel to it', async () => {
    const text =
      "process.send?.({ kind: 'failed', reason: 'sent' });\nexport const handlers = { hello: () => process.send === undefined };\n";
    const cwd = fresh({ 'worker.js': text });
    await using program = dev(cwd, 'worker.js', '--ExecutionRuntime:AcceptHandlersOfWorkers=false');
    await program.says(
      /^The service does not know hello, and rejects their starts\. [^]*AcceptHandlersOfWorkers[^]*ExternalHandlers/m,
    );
    program.signal('SIGTERM');
    expect((await program.exit).code).toBe(0);
    const key = 'a-key-of-a-developer-0123456789';
    await using known = new Program([entry, 'dev', 'worker.js', '--port', '0', '--seed'], {
      cwd,
      env: { SVC_API_KEY: key },
    });
    const address = await addressOf(known);
    await known.says(/^ {2}worker +worker\.js: hello \(/m);
    const answer = await fetch(`${address}/execution/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-api-key': key },
      body: JSON.stringify({ handlerId: 'hello', waitSeconds: 20 }),
    });
    expect(await answer.json()).toMatchObject({ status: 'succeeded', result: true });
  });

  test('stores sample data once, and removes it only when that is meant', async () => {
    const cwd = fresh();
    // A server with a worker id of its own holds no lock beside the database.
    await using first = dev(cwd, '--seed', '--ExecutionRuntime:WorkerId=mine');
    const address = await addressOf(first);
    const order = (at: string) => fetch(`${at}/canonical/tenants/acme/documents/order/1000`);
    const { status, headers } = await order(address);
    expect(status).toBe(200);
    await using beside = dev(cwd, '--seed');
    expect((await order(await addressOf(beside))).headers.get('etag')).toBe(headers.get('etag'));
    beside.signal('SIGTERM');
    expect((await beside.exit).code).toBe(0);
    await using inUse = dev(cwd, '--reset', '--yes');
    await inUse.says(/A server uses the data in \.svc\. Stop it first/);
    expect((await inUse.exit).code).toBe(4);
    expect((await order(address)).status).toBe(200);
    first.signal('SIGTERM');
    expect((await first.exit).code).toBe(0);
    await using asked = dev(cwd, '--reset');
    await asked.says(/removes all data in \.svc, and there is no terminal to ask/);
    expect((await asked.exit).code).toBe(2);
    await using second = dev(cwd, '--reset', '--yes');
    const again = await addressOf(second);
    expect((await order(again)).status).toBe(404);
  });
});

describe('svc-server dev refuses', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[], RegExp, number]>([
    [
      'Production',
      {},
      ['--Environment=Production', '--CanonicalStore:Enabled=false'],
      /dev runs in Development only, and Environment is Production \(command line\)/,
      2,
    ],
    [
      'the settings of Production',
      { 'svcsettings.json': '{"Environment":"Production","CanonicalStore":{"Enabled":false}}' },
      [],
      /Environment is Production \(svcsettings\.json\)/,
      2,
    ],
    ['a setting that does not exist', {}, ['--Server:Prot=1'], /Server:Prot/, 2],
    ['an option that does not exist', {}, ['--sede'], /--sede is no option of dev/, 2],
    // Each program of this file gets a first one.
    ['an option that is given twice', {}, ['--port', '1'], /'--port <number>' is given more than once/, 2],
    ['a file that does not exist', {}, ['missing.ts'], /There is no file missing\.ts/, 3],
    [
      'a program of Python',
      { 'worker.py': '' },
      ['worker.py'],
      /dev runs modules of Node\. Leave worker\.py out/,
      2,
    ],
    ['a folder', {}, ['.'], /\. is no file\. Name the module that exports the handlers/, 2],
    [
      'other machines',
      {},
      ['--Server:Host=0.0.0.0', '--Server:AllowRemoteDevelopment=true'],
      /dev serves this machine only, and Server:Host is 0\.0\.0\.0 \(command line\)/,
      2,
    ],
    [
      'a worker without runs',
      { 'worker.js': '' },
      ['worker.js', '--ExecutionRuntime:Enabled=false'],
      /A worker needs runs, and ExecutionRuntime:Enabled is false/,
      2,
    ],
    [
      'hashes of keys alone, of which it can present none',
      {},
      [`--Server:ApiKeyHashes:0=sha256:${'0'.repeat(64)}`],
      /The service asks for an API key, and Server:ApiKeyHashes holds hashes alone: set SVC_API_KEY /,
      2,
    ],
    [
      'a file of hashes alone',
      { 'keys.json': '{}' },
      ['--Server:ApiKeyFile=keys.json'],
      /asks for an API key, and Server:ApiKeyFile holds hashes alone: set SVC_API_KEY /,
      2,
    ],
    ['a settings file that is missing', {}, ['--settings', 'none.json'], /none\.json.* does not exist/, 2],
    ['two files', { 'a.ts': '', 'b.ts': '' }, ['a.ts', 'b.ts'], /dev runs one file, not 2/, 2],
    [
      'to remove data that is elsewhere',
      {},
      ['--Server:DataDirectory=data', '--reset', '--yes'],
      /the settings put the data elsewhere/,
      2,
    ],
  ])('%s', async (_, files, args, message, code) => {
    await using program = dev(fresh(files), ...args);
    await program.says(message);
    expect((await program.exit).code).toBe(code);
  });

  test('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => taken.once('listening', listening));
    const { port } = taken.address() as { port: number };
    await using program = new Program([entry, 'dev', '--port', String(port)], { cwd: fresh() });
    await program.says(new RegExp(`Port ${port} is in use`));
    expect((await program.exit).code).toBe(1);
    taken.close();
  });
});
