import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { installedBeside } from '../../scripts/packages/matrix/beside.ts';
import { nodeOf, nodes } from '../../scripts/packages/matrix/runtimes.ts';
import { root } from './program.ts';

/** The installation of a clone by the oldest Node with its npm: sizes, and what npm prints. */

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'svc-installation-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NPM = '10.8.2';
const clone = join(folder, 'clone');

/** What `npm install` prints. A script of npm passes its own settings on, and a user has none. */
async function install(words: readonly string[]): Promise<string> {
  rmSync(clone, { recursive: true, force: true });
  for (const path of ['package.json', 'package-lock.json', '.npmrc', 'scripts/second-node.mjs'])
    cpSync(join(root, path), join(clone, path));
  const [[, oldest]] = nodes;
  const tools = [dirname(await nodeOf(oldest)), join(await installedBeside('npm', NPM), '../.bin')];
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const env = { ...Object.fromEntries(own), PATH: [...tools, process.env['PATH']].join(delimiter) };
  const { stdout, stderr } = await run('npm', ['install', ...words], { cwd: clone, env });
  return stdout + stderr;
}

const megabytes = (path: string) =>
  Number.parseInt(execFileSync('du', ['-sm', path], { encoding: 'utf8' }), 10);

describe('npm install in a clone, on the oldest Node', () => {
  test('prints no warning, and brings the Node of the project', async () => {
    expect(await install([])).not.toMatch(/warn|EBADENGINE/i);
    const program = join(clone, 'node_modules/.bin/node');
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()).toBe(process.version);
    expect(megabytes(join(clone, 'node_modules'))).toBeLessThanOrEqual(520);
  });

  test('of what the service needs is small', async () => {
    await install(['--omit=dev']);
    expect(existsSync(join(clone, 'node_modules/pg/package.json'))).toBe(true);
    expect(existsSync(join(clone, 'node_modules/node'))).toBe(false);
    expect(megabytes(join(clone, 'node_modules'))).toBeLessThanOrEqual(80);
  });
});
