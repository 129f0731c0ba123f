import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { buildServer, type ServerReport } from '../../scripts/build/server.ts';
import { hashesOf } from '../security/bundle.ts';
import { emptyProject } from '../support/google-cloud/project.ts';
import { GoogleCloudServer } from '../support/google-cloud/server.ts';
import { commit, Program, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-server-package-'));
const unpacked = join(folder, 'opt');
const data = join(folder, 'data');
let report: ServerReport;

beforeAll(async () => {
  report = await buildServer(join(folder, 'dist'));
  mkdirSync(unpacked);
  execFileSync('tar', ['-xzf', report.archive, '-C', unpacked]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program of the unpacked archive, outside of this project and without any installed package. */
function start(program: 'svc' | 'svc-server', words: readonly string[] = []): Program {
  const path = join(unpacked, 'package/bin', program);
  return new Program([path, ...words], { cwd: folder, env: { SVC_DATA_DIR: data } });
}

/** The programs of a page: a first worker, and the service inside a process. */
function examplesOf(page: string): readonly string[] {
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text);
}

async function output(words: readonly string[]): Promise<string> {
  await using program = start('svc', words);
  expect(await program.exit, program.stderr).toEqual({ code: 0, signal: null });
  return program.stdout;
}

describe('the package of the embedded server and the tool', () => {
  test('is within its budgets, has no dependencies, and the same bytes in every folder', async () => {
    expect(report.faults).toEqual([]);
    const own: unknown = JSON.parse(readFileSync(join(report.folder, 'package.json'), 'utf8'));
    expect(own).toMatchObject({
      name: '@svc-runtime/server',
      version: description.version,
      // npx runs the command that has the last part of the package's name.
      bin: { server: 'bin/svc-server', 'svc-server': 'bin/svc-server', svc: 'bin/svc' },
      repository: description.repository,
      publishConfig: { access: 'public' },
    });
    for (const member of ['private', 'dependencies', 'scripts']) expect(own).not.toHaveProperty(member);
    expect(report.bundled).toContain('node_modules/pg');
    const other = await buildServer(join(folder, 'another place'));
    expect(hashesOf(other.folder)).toEqual(hashesOf(report.folder));
    expect(readFileSync(other.archive).equals(readFileSync(report.archive))).toBe(true);
  });

  test('serves, keeps committed writes over a restart, and shows its guides', async () => {
    for (const replayed of [false, true]) {
      await using server = start('svc-server', ['--Server:Port=0']);
      const [, url = ''] = await server.says(/ready at (http:\S+)/);
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ version: description.version });
      const answer = await commit(url, 'acme', 'first');
      expect(await answer.json()).toMatchObject({ replayed });
      expect(await (await fetch(`${url}/docs/databases`)).text()).toContain('<h1 id="databases">');
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    }
  });

  test('has dev, which runs the first handlers of its page and knows the client', async () => {
    const place = join(folder, 'dev');
    mkdirSync(place);
    const [worker = ''] = examplesOf(readFileSync(join(unpacked, 'package/README.md'), 'utf8'));
    const client = `import { SvcClient } from '@svc-runtime/client';\nif (SvcClient.name === '') throw new Error('none');\n`;
    writeFileSync(join(place, 'worker.ts'), client + worker);
    const path = join(unpacked, 'package/bin/svc-server');
    await using server = new Program([path, 'dev', 'worker.ts', '--port', '0'], { cwd: place });
    const [, url = ''] = await server.says(/^ {2}api +(http:\S+)$/m);
    expect(server.stdout).toContain('worker.ts: hello (a change reloads it)');
    const answer = await fetch(`${url}/execution/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ handlerId: 'hello', payload: { name: 'Ada' }, waitSeconds: 20 }),
    });
    expect(await answer.json()).toMatchObject({ result: { greeting: 'Hello, Ada' } });
    server.signal('SIGINT');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('names in its help and in the next steps the commands that work there', async () => {
    await using server = start('svc-server', ['--help']);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.stdout).toContain('Usage: svc-server [--Key=value …]');
    expect(server.stdout).toContain('svc-server dev [worker.ts] ');
    const steps = await output(['init', '--out', 'made', '--tenant', 'acme', '--product', 'shop', '--yes']);
    expect(steps).toContain('2. svc-server --settings made/svcsettings.json');
    expect(server.stdout + steps).not.toContain('npm ');
  });

  test('has the tool, which needs nothing beside it', async () => {
    expect(await output(['--version'])).toBe(`${description.version}\n`);
    expect(await output(['config', 'check'])).not.toBe('');
    expect(await output(['doctor', '--output', 'json'])).toContain('"node"');
    expect(await output(['api', 'startExecutionRun', '--help'])).toContain('handlerId');
  });

  test('puts the service together in the process of another program, which compiles against it', async () => {
    const place = join(folder, 'consumer');
    mkdirSync(join(place, 'node_modules/@svc-runtime'), { recursive: true });
    symlinkSync(join(unpacked, 'package'), join(place, 'node_modules/@svc-runtime/server'));
    writeFileSync(join(place, 'package.json'), '{"type":"module"}');
    const readme = readFileSync(join(unpacked, 'package/README.md'), 'utf8');
    const [worker = '', example = ''] = examplesOf(readme);
    writeFileSync(join(place, 'worker.ts'), worker);
    const program = example
      .replaceAll('/tmp', place)
      .replace('console.log', 'await service.start();\nconsole.log');
    writeFileSync(join(place, 'program.ts'), program);
    const wrong = `import { composeService } from '@svc-runtime/server/compose';
      // @ts-expect-error: settings are texts
      await composeService({ settings: { 'Server:Port': 0 } });`;
    writeFileSync(join(place, 'wrong.ts'), wrong);
    const flags = '--ignoreConfig --strict --noEmit --module nodenext --target es2024 --types node'.split(
      ' ',
    );
    const files = ['program.ts', 'worker.ts', 'wrong.ts', '--typeRoots', join(root, 'node_modules/@types')];
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...flags, ...files], { cwd: place, encoding: 'utf8' });
    await using running = new Program(['program.ts'], { cwd: place });
    expect([(await running.exit).code, running.stdout, running.stderr]).toEqual([0, '200\n', '']);
    expect(existsSync(join(place, 'test.db'))).toBe(true);
  });

  test('refuses settings with faults there, and names them', async () => {
    const module = join(report.folder, 'lib/code/compose.js');
    const settings = { 'Server:Port': 'many', 'Nothing:Here': '1' };
    const call = `(await import('${module}')).composeService({ settings: ${JSON.stringify(settings)} })`;
    await using running = new Program(
      ['-e', `await (${call}).catch((error) => console.log(error.message))`],
      {
        cwd: folder,
      },
    );
    expect((await running.exit).code).toBe(0);
    expect(running.stdout).toMatch(/^The configuration has 2 faults:/);
    for (const key of Object.keys(settings)) expect(running.stdout).toContain(key);
  });

  test('checks a project in Google Cloud with the credentials of the machine', async () => {
    const project = emptyProject('my-project');
    await using google = await GoogleCloudServer.start(project);
    const credentials = join(folder, 'credentials.json');
    writeFileSync(join(folder, 'token.jwt'), 'a.b.c');
    writeFileSync(credentials, google.credentialFile(join(folder, 'token.jwt')));
    const words = ['doctor', '--cloud', '--project', 'my-project', '--json'];
    await using tool = new Program([join(unpacked, 'package/bin/svc'), ...words], {
      cwd: folder,
      env: { GOOGLE_APIS_ENDPOINT: google.endpoint, GOOGLE_APPLICATION_CREDENTIALS: credentials },
    });
    expect(await tool.exit, tool.stdout).toEqual({ code: 0, signal: null });
    expect(tool.stdout).toContain('Google accepts the credentials of this machine.');
  });
});
