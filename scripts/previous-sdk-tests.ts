/**
 * Checks that code written for the last release compiles against this one: type-checks the SDK tests of the last tag
 * against the current sources, TypeScript with tsc, the typed usage of Python with pyright.
 *
 *     npm run sdk:previous [-- --ref <commit>]     a tag, branch or commit instead of the last tag
 *     npm run sdk:previous [-- --tree <folder>]    a folder with a release, or with the part that differs
 *
 * A last tag without an SDK is reported and is no failure; an explicit commit without one is.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { toolPath } from './tools.ts';

const root = resolve(import.meta.dirname, '..');
const SOURCE = 'sdk/typescript/src';
const TYPESCRIPT = 'sdk/typescript/test';
const PYTHON = 'sdk/python/tests/typing/usage.py';

const { values } = parseArgs({ options: { tree: { type: 'string' }, ref: { type: 'string' } } });
const work = mkdtempSync(join(tmpdir(), 'sdk-previous-'));
try {
  process.exitCode = main();
} finally {
  rmSync(work, { recursive: true, force: true });
}

function main(): number {
  const released = release();
  if ('none' in released) {
    console.log(`${released.none}: nothing to compare with`);
    return values.ref === undefined ? 0 : 1;
  }
  const checks = [checkTypeScript(released.tree), checkPython(released.tree)];
  for (const { output } of checks) if (output !== '') console.error(output);
  const failed = checks.some(({ ok }) => !ok);
  const names = checks.map(({ name }) => name).join(', ');
  console.log(`${released.name}: ${names}: ${failed ? 'does not compile any more' : 'compiles'}`);
  return failed ? 1 : 0;
}

interface Released {
  readonly name: string;
  /** The folder of the release. */
  readonly tree: string;
}

/** The unpacked release, or the reason why none exists. */
function release(): Released | { readonly none: string } {
  if (values.tree !== undefined) return { name: values.tree, tree: resolve(values.tree) };
  if (!existsSync(join(root, '.git'))) return { none: 'this is no clone' };
  const name = values.ref ?? lastTag();
  if (name === undefined) return { none: 'there is no tag here' };
  const [commit = ''] = git('rev-list', '--max-count=1', '--ignore-missing', '--end-of-options', name).split(
    '\n',
  );
  if (commit === '') return { none: `${name} is no commit here` };
  const tests = git('ls-tree', '-r', '--name-only', commit, TYPESCRIPT, PYTHON);
  if (tests === '') return { none: `${name} has no SDK` };
  return unpacked(name, commit);
}

function lastTag(): string | undefined {
  const [name = ''] = git('tag', '--list', 'v*', '--sort=-v:refname').trim().split('\n');
  return name === '' ? undefined : name;
}

function unpacked(name: string, commit: string): Released {
  const tree = join(work, 'tag');
  mkdirSync(tree);
  const archive = join(work, 'tag.tar');
  git('archive', '--output', archive, commit);
  const { status } = spawnSync('tar', ['-xf', archive, '-C', tree]);
  if (status !== 0) throw new Error(`${name} could not be unpacked`);
  return { name, tree };
}

function git(...args: string[]): string {
  const { stdout, status, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly output: string;
}

/**
 * Builds a project from the release in which only the SDK source is current: its other tools may change freely. Tests
 * that import internal modules are left out, because those modules carry no promise.
 */
function checkTypeScript(tree: string): Check {
  const tests = join(tree, TYPESCRIPT);
  if (!existsSync(tests)) return { name: 'no tests in TypeScript', ok: true, output: '' };
  const place = join(work, 'project');
  linkAllBut(place, ['.'], tree, ['sdk', 'tsconfig.json', 'dist', '.git', 'node_modules']);
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  linkAllBut(place, ['sdk'], tree, ['typescript']);
  linkAllBut(place, ['sdk', 'typescript'], tree, ['test', 'src', 'dist']);
  symlinkSync(join(root, SOURCE), join(place, SOURCE));
  const inner = insideOf(tests);
  cpSync(tests, join(place, TYPESCRIPT), {
    recursive: true,
    filter: (path) => !inner.includes(relative(tests, path)),
  });
  const config = {
    extends: join(root, 'tsconfig.json'),
    // Keep symbolic links unresolved, so that the tests find the current source at the release's paths. Unused code
    // in the source does not concern callers.
    compilerOptions: { preserveSymlinks: true, noUnusedLocals: false, noUnusedParameters: false },
    include: [TYPESCRIPT],
  };
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config));
  const but = inner.length === 0 ? '' : ` (but ${inner.join(', ')}, of the inside)`;
  return checked(`tests in TypeScript${but}`, join(root, 'node_modules/.bin/tsc'), ['-p', place], place);
}

/** The files that import internal modules, directly or through one another. */
function insideOf(tests: string): readonly string[] {
  const texts = new Map(
    readdirSync(tests, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(tests, name), 'utf8')]),
  );
  const inner = new Set([...texts.keys()].filter((name) => looksInside(texts.get(name) ?? '')));
  // Iterating a set also visits members added meanwhile.
  for (const found of inner)
    for (const [name, text] of texts) if (text.includes(`from './${found}'`)) inner.add(name);
  return [...texts.keys()].filter((name) => inner.has(name));
}

/** Callers import the index files only. */
function looksInside(text: string): boolean {
  return /from '\.\.\/src\/(?!(?:worker\/)?index\.ts')/.test(text);
}

function checkPython(tree: string): Check {
  const usage = join(tree, PYTHON);
  if (!existsSync(usage)) return { name: 'no typed usage in Python', ok: true, output: '' };
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
  return checked('typed usage in Python', toolPath('.bin/pyright'), ['-p', place], place);
}

function checked(name: string, tool: string, args: readonly string[], cwd: string): Check {
  const { status, stdout } = spawnSync(tool, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' },
  });
  return { name, ok: status === 0, output: status === 0 ? '' : stdout };
}

/** Links the release's entries of this folder, and the current project's for the rest. */
function linkAllBut(
  place: string,
  folder: readonly string[],
  tree: string,
  without: readonly string[],
): void {
  const to = join(place, ...folder);
  mkdirSync(to, { recursive: true });
  for (const from of [join(tree, ...folder), join(root, ...folder)]) {
    for (const name of existsSync(from) ? readdirSync(from) : []) {
      if (!without.includes(name) && !existsSync(join(to, name)))
        symlinkSync(join(from, name), join(to, name));
    }
  }
}
