/**
 * Whether who wrote against the last release can compile against this one: the SDK tests of the last tag are type-checked
 * against the sources of now, TypeScript by tsc, the typed usage of Python by pyright.
 *
 *     npm run sdk:previous [-- --tree <folder>]    a folder with the `sdk` of a release, in place of the last tag
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const TYPESCRIPT = 'sdk/typescript/test';
const PYTHON = 'sdk/python/tests/typing/usage.py';

const { values } = parseArgs({ options: { tree: { type: 'string' } } });
const work = mkdtempSync(join(tmpdir(), 'sdk-previous-'));
try {
  process.exitCode = main();
} finally {
  rmSync(work, { recursive: true, force: true });
}

function main(): number {
  const released = values.tree === undefined ? lastTag() : { name: values.tree, tree: resolve(values.tree) };
  if ('none' in released) {
    console.log(released.none);
    return 0;
  }
  const checks = [checkTypeScript(released.tree), checkPython(released.tree)];
  for (const { output } of checks) if (output !== '') console.error(output);
  const failed = checks.some(({ ok }) => !ok);
  const names = checks.map(({ what }) => what).join(', ');
  console.log(`${released.name}: ${names}: ${failed ? 'does not compile any more' : 'compiles'}`);
  return failed ? 1 : 0;
}

/** The SDKs of the last tag, unpacked; or why there are none. */
function lastTag(): { readonly name: string; readonly tree: string } | { readonly none: string } {
  if (!existsSync(join(root, '.git'))) return { none: 'this is no clone: nothing to compare with' };
  const [name = ''] = git('tag', '--list', 'v*', '--sort=-v:refname').trim().split('\n');
  if (name === '') return { none: 'there is no tag here: nothing to compare with' };
  if (git('ls-tree', '--name-only', name, 'sdk') === '')
    return { none: `${name} has no SDK: nothing to compare with` };
  const tree = join(work, 'tag');
  mkdirSync(tree);
  const archive = join(work, 'tag.tar');
  git('archive', '--output', archive, name, 'sdk');
  const { status } = spawnSync('tar', ['-xf', archive, '-C', tree]);
  if (status !== 0) throw new Error(`the SDKs of ${name} could not be unpacked`);
  return { name, tree };
}

function git(...args: string[]): string {
  const { stdout, status, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

interface Check {
  readonly what: string;
  readonly ok: boolean;
  readonly output: string;
}

/** The project of now, in which only the tests of the SDK are those of the release. */
function checkTypeScript(tree: string): Check {
  const tests = join(tree, TYPESCRIPT);
  if (!existsSync(tests)) return { what: 'no tests in TypeScript', ok: true, output: '' };
  const place = join(work, 'project');
  linkAllBut(root, place, ['sdk', 'tsconfig.json', 'dist', '.git']);
  linkAllBut(join(root, 'sdk'), join(place, 'sdk'), ['typescript']);
  linkAllBut(join(root, 'sdk/typescript'), join(place, 'sdk/typescript'), ['test', 'dist']);
  cpSync(tests, join(place, TYPESCRIPT), { recursive: true });
  const config = {
    extends: join(root, 'tsconfig.json'),
    // Links stay what they are, so that the tests find the sources of now where they expect those of their release.
    compilerOptions: { preserveSymlinks: true },
    include: [TYPESCRIPT],
  };
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config));
  return checked('tests in TypeScript', 'tsc', ['-p', place], place);
}

function checkPython(tree: string): Check {
  const usage = join(tree, PYTHON);
  if (!existsSync(usage)) return { what: 'no typed usage in Python', ok: true, output: '' };
  const place = join(work, 'python');
  mkdirSync(place);
  cpSync(usage, join(place, 'usage.py'));
  const config = {
    include: ['usage.py'],
    extraPaths: [join(root, 'sdk/python/src')],
    pythonVersion: '3.10',
    typeCheckingMode: 'standard',
    reportMissingModuleSource: 'none',
  };
  writeFileSync(join(place, 'pyrightconfig.json'), JSON.stringify(config));
  return checked('typed usage in Python', 'pyright', ['-p', place], place);
}

function checked(what: string, tool: string, args: readonly string[], cwd: string): Check {
  const { status, stdout } = spawnSync(join(root, 'node_modules/.bin', tool), args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' },
  });
  return { what, ok: status === 0, output: status === 0 ? '' : stdout };
}

function linkAllBut(from: string, to: string, without: readonly string[]): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (!without.includes(name)) symlinkSync(join(from, name), join(to, name));
  }
}
