import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeStarter } from '../../create-svc-app/starter.js';
import description from '../../package.json' with { type: 'json' };
import { makeStarterArchives } from '../../scripts/first-run/packages.ts';
import { type FileRequest, requestsIn } from './http-file.ts';
import { Program, root } from './program.ts';

const run = promisify(execFile);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-starter-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const packages = join(folder, 'packages');
let server = '';
let client = '';
let starter = '';

beforeAll(async () => {
  ({ server, client, starter } = await makeStarterArchives(packages));
  writeFileSync(join(packages, 'svc_runtime_client-0.0.0-py3-none-any.whl'), '');
  mkdirSync(join(folder, 'no packages'));
  writeFileSync(join(folder, 'a.txt'), '');
});

const create = (words: readonly string[]) =>
  new Program([join(root, 'create-svc-app/main.js'), ...words], { cwd: folder });

async function made(name: string, ...words: readonly string[]): Promise<string> {
  await using program = create([name, '--from', packages, ...words]);
  expect(await program.exit, program.stderr).toEqual({ code: 0, signal: null });
  return join(folder, name);
}

/** A script of a manifest, as npm runs it. */
function inShell(script: string, cwd: string, more: Readonly<Record<string, string>> = {}): Program {
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
  return new Program(['-c', script], { cwd, command: '/bin/sh', env: { PATH, ...more } });
}

const manifestOf = (app: string) =>
  JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')) as {
    readonly engines: { readonly node: string };
    readonly scripts: { readonly test: string };
  };

/** What `npm install` does with these files, without a registry for the tools of development. */
async function install(app: string): Promise<void> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const own = { ...dependencies, '@svc-runtime/server': devDependencies['@svc-runtime/server'] ?? '' };
  expect(own).toEqual({ '@svc-runtime/client': `file:${client}`, '@svc-runtime/server': `file:${server}` });
  for (const [name, place] of Object.entries(own)) {
    const into = join(app, 'node_modules', name);
    mkdirSync(into, { recursive: true });
    await run('tar', ['-xzf', place.replace('file:', ''), '-C', into, '--strip-components=1']);
  }
  mkdirSync(join(app, 'node_modules/.bin'));
  symlinkSync('../@svc-runtime/server/bin/svc-server', join(app, 'node_modules/.bin/svc-server'));
  mkdirSync(join(app, 'node_modules/@types'));
  symlinkSync(join(root, 'node_modules/@types/node'), join(app, 'node_modules/@types/node'));
}

async function succeeds(words: readonly string[], cwd: string): Promise<string> {
  await using program = new Program(words, { cwd });
  expect(await program.exit, program.stdout + program.stderr).toEqual({ code: 0, signal: null });
  return program.stdout;
}

const filesOf = (path: string) =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));

describe('the starter in TypeScript', () => {
  let app = '';
  beforeAll(async () => {
    app = await made('My App');
    await install(app);
  });

  test('is a whole application', () => {
    const names = [
      '.gitignore',
      '.npmrc',
      'AGENTS.md',
      'README.md',
      'node_modules',
      'package.json',
      'requests.http',
      'start.ts',
      'tsconfig.json',
      'worker.test.ts',
      'worker.ts',
    ];
    expect(readdirSync(app).toSorted()).toEqual(names);
    expect(JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))).toMatchObject({ name: 'my-app' });
    const readme = readFileSync(join(app, 'README.md'), 'utf8');
    expect(readme).toMatch(/^# my-app\n/);
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
    expect(readFileSync(join(app, 'AGENTS.md'), 'utf8').match(/^\d+\. /gm)).toHaveLength(10);
    for (const name of names.filter((each) => each !== 'node_modules'))
      expect(readFileSync(join(app, name), 'utf8')).not.toMatch(/__[A-Z]+__/);
  });

  test('has no type errors, and its own test passes', async () => {
    await succeeds([join(root, 'node_modules/typescript/bin/tsc')], app);
    // As npm runs it: the messages of the service are not among the results.
    await using tests = inShell(manifestOf(app).scripts.test, app);
    expect(await tests.exit, tests.stdout + tests.stderr).toEqual({ code: 0, signal: null });
    expect(tests.stdout).toMatch(/pass 2\n[^]*fail 0\n/);
    expect(tests.stdout + tests.stderr).not.toContain('Development mode');
  });

  test('shows the messages of the service when its test fails', async () => {
    const text = readFileSync(join(app, 'worker.test.ts'), 'utf8');
    const place = join(app, 'failing.test.ts');
    writeFileSync(place, text.replace("approval: { by: 'kim' },", "approval: { by: 'lee' },"));
    await using failing = new Program(['--test', place], { cwd: app });
    expect((await failing.exit).code).toBe(1);
    expect(failing.stdout + failing.stderr).toContain('Development mode');
    rmSync(place);
  });

  test('is refused by npm on an older Node, and its test fails where a file of it does not run', async () => {
    expect(manifestOf(app).engines.node).toBe('>=24');
    expect(readFileSync(join(app, '.npmrc'), 'utf8')).toMatch(/^engine-strict=true$/m);
    const { stdout: packed } = await run('tar', ['-tzf', starter]);
    expect(packed).toContain('/templates/typescript/npmrc.template\n');
    // A Node without types, such as 20, runs no test by `node --test` alone, and ends well.
    const options = '--no-strip-types';
    await using older = inShell(manifestOf(app).scripts.test, app, { NODE_OPTIONS: options });
    expect((await older.exit).code).toBe(1);
    expect(older.stdout).toMatch(/pass 0\n[^]*fail 1\n/);
  });

  test('answers the requests of its file', async () => {
    const words = ['node_modules/.bin/svc-server', 'dev', 'worker.ts', '--port', '0'];
    await using program = new Program(words, { cwd: app });
    const [, address = ''] = await program.says(/^ {2}api +(\S+)$/m);
    const text = readFileSync(join(app, 'requests.http'), 'utf8');
    const statuses: number[] = [];
    let waiting = '';
    for (const at of requestsIn(text, {}).keys()) {
      const { url, ...request } = requestsIn(text, { host: address, run: waiting })[at] as FileRequest;
      const answer = await fetch(url, request);
      statuses.push(answer.status);
      const body = (await answer.json()) as Readonly<Record<string, unknown>>;
      if (body['handlerId'] === 'refund.pay') waiting = String(body['id']);
      if (url.includes('waitSeconds'))
        expect(body).toMatchObject({ status: 'succeeded', result: { approval: { by: 'kim' } } });
    }
    expect(statuses).toEqual([200, 200, 202, 202, 200, 200, 200]);
    program.signal('SIGINT');
    expect((await program.exit).code).toBe(0);
  });

  test('is what svc init --starter makes, from the source and from the package', async () => {
    for (const name of ['node_modules', '.svc']) rmSync(join(app, name), { recursive: true });
    const tools = [join(root, 'cli/main.ts'), join(folder, 'unpacked/package/bin/svc')];
    mkdirSync(join(folder, 'unpacked'));
    await run('tar', ['-xzf', server, '-C', join(folder, 'unpacked')]);
    for (const [at, tool] of tools.entries()) {
      const out = join(folder, String(at), 'My App');
      await succeeds([tool, 'init', '--starter', '--out', out, '--from', packages], folder);
      expect(filesOf(out)).toEqual(filesOf(app));
    }
  });
});

test.each(['20.19.4', '24.0.0'])(
  'on Node %s the starter writes its files, and names the Node that they need',
  (node) => {
    const templates = join(root, 'create-svc-app/templates');
    const given = { templates, folder: join(folder, `on-${node}`), version: '1.0.0', node };
    const line = `This application needs Node 24; this is ${node}.\n`;
    const expected = node.startsWith('20') ? line : 'The application is made.';
    expect(makeStarter({ ...given, language: 'typescript' }).slice(0, expected.length)).toBe(expected);
    expect(readdirSync(given.folder)).toContain('worker.ts');
  },
);

test('the starter in Python names the wheel', async () => {
  const app = await made('python-app', '--language', 'python');
  expect(readFileSync(join(app, 'requirements.txt'), 'utf8')).toBe(
    `svc-runtime-client @ ${pathToFileURL(join(packages, 'svc_runtime_client-0.0.0-py3-none-any.whl')).href}\n`,
  );
  expect(Object.values(filesOf(app)).join('')).not.toMatch(/__(NAME|WHEEL|RUN|CLIENT|SERVER)__/);
  expect(readdirSync(app)).toContain('test_worker.py');
});

test('the starter takes packages of any folder', async () => {
  const odd = join(folder, `a "b' \\c #d %20`);
  cpSync(packages, odd, { recursive: true });
  for (const language of ['typescript', 'python']) {
    await using program = create([`odd-${language}`, '--from', odd, '--language', language]);
    expect(await program.exit, program.stderr).toEqual({ code: 0, signal: null });
  }
  const manifest = readFileSync(join(folder, 'odd-typescript/package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({
    dependencies: { '@svc-runtime/client': `file:${client.replace(packages, odd)}` },
  });
  const [, wheel = ''] = readFileSync(join(folder, 'odd-python/requirements.txt'), 'utf8').split(' @ ');
  expect(existsSync(new URL(wheel.trim()))).toBe(true);
});

test('the starter without files names its release, so that no other one is fetched', async () => {
  const { version } = description;
  await using python = create(['released', '--language', 'python']);
  expect(await python.exit, python.stderr).toEqual({ code: 0, signal: null });
  const files = filesOf(join(folder, 'released'));
  expect(files['requirements.txt']).toBe(`svc-runtime-client==${version}\n`);
  for (const text of [files['README.md'], python.stdout])
    expect(text).toContain(`npx --yes @svc-runtime/server@${version} dev\n`);
  expect(python.stdout).toContain('cd released && .venv/bin/python worker.py   # in another terminal\n');
});

describe('the starter refuses', () => {
  test.each<[string, readonly string[], RegExp]>([
    ['a folder with files', ['packages'], /packages is not empty/],
    ['no folder', [], /name one folder/],
    ['another language', ['a', '--language', 'cobol'], /the language is one of typescript, python/],
    ['an option that it does not have', ['a', '--lang', 'python'], /Unknown option '--lang'/],
    ['packages that are not there', ['a', '--from', 'nowhere'], /there is no folder nowhere/],
    ['a folder without packages', ['a', '--from', 'no packages'], /holds no package of the server/],
    [
      'a file as the folder',
      ['a.txt'],
      /^create-svc-app: a\.txt cannot be read: a file is where a folder must be\n$/,
    ],
    [
      'a folder in a file',
      ['a.txt/b'],
      /^create-svc-app: a\.txt\/b cannot be written: a file is where a folder must be\n$/,
    ],
    [
      'a file with packages',
      ['a', '--from', 'a.txt'],
      /a\.txt cannot be read: a file is where a folder must be\n$/,
    ],
  ])('%s', async (_, words, message) => {
    await using program = create(words);
    expect((await program.exit).code).toBe(2);
    expect(program.stderr).toMatch(message);
    expect(existsSync(join(folder, 'a'))).toBe(false);
  });
});
