/**
 * Whether who wrote against the last release can compile against this one: the SDK tests of the last tag are type-checked
 * against the sources of now, TypeScript by tsc, the typed usage of Python by pyright.
 *
 *     npm run sdk:previous [-- --ref <commit>]     a tag, branch or commit, in place of the last tag
 *     npm run sdk:previous [-- --tree <folder>]    a folder with a release, or as much of it as differs
 *
 * A last tag without an SDK is told by its name and is no failure; whoever names a commit wants it compared.
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
  const names = checks.map(({ what }) => what).join(', ');
  console.log(`${released.name}: ${names}: ${failed ? 'does not compile any more' : 'compiles'}`);
  return failed ? 1 : 0;
}

interface Released {
  readonly name: string;
  /** A folder that holds it. */
  readonly tree: string;
}

/** The release, unpacked; or why there is none to compare with. */
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
  readonly what: string;
  readonly ok: boolean;
  readonly output: string;
}

/**
 * The project of the release, in which only the source of the SDK is that of now: what else its tests lean on may change as it
 * likes. So may the inside of the SDK, and a test that imports it tells nothing of what was promised.
 */
function checkTypeScript(tree: string): Check {
  const tests = join(tree, TYPESCRIPT);
  if (!existsSync(tests)) return { what: 'no tests in TypeScript', ok: true, output: '' };
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
    // Links stay what they are, so that the tests find the source of now where they expect that of their release. What the
    // source does not use is no matter of who calls it.
    compilerOptions: { preserveSymlinks: true, noUnusedLocals: false, noUnusedParameters: false },
    include: [TYPESCRIPT],
  };
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(config));
  const but = inner.length === 0 ? '' : ` (but ${inner.join(', ')}, of the inside)`;
  return checked(`tests in TypeScript${but}`, 'tsc', ['-p', place], place);
}

/** The files that import the inside of the SDK, themselves or through one another. */
function insideOf(tests: string): readonly string[] {
  const texts = new Map(
    readdirSync(tests, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(tests, name), 'utf8')]),
  );
  const inner = new Set([...texts.keys()].filter((name) => looksInside(texts.get(name) ?? '')));
  // A set hands out what is added to it meanwhile.
  for (const found of inner)
    for (const [name, text] of texts) if (text.includes(`from './${found}'`)) inner.add(name);
  return [...texts.keys()].filter((name) => inner.has(name));
}

/** What callers import are the indexes alone. */
function looksInside(text: string): boolean {
  return /from '\.\.\/src\/(?!(?:worker\/)?index\.ts')/.test(text);
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

/** Links what the release has in this folder, and from the project of now what it does not have. */
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
