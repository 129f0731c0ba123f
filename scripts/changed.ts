/** `npm run test:changed`: the plain tests nearest to what changed (`--help`). */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { testLanes } from '../test/lanes.ts';
import { dependantsOf } from './changed/dependants.ts';

/** The plain lane takes about two processor seconds a file, so that two quiet cores need well below a minute for these. */
const NEAREST = 40;
const root = resolve(import.meta.dirname, '..');
const help = `Runs the plain test files that depend on a changed file, the ${NEAREST} nearest by their imports.

  npm run test:changed [-- --since REF] [--all] [--list]

  --since REF  what changed since this branch left REF, and what is not committed
  --all        all that depend on the change by Vitest's own graph, however many
  --list       prints the files and runs none
  --help       this text

Without --since: what is not committed; where all is committed, what changed since this branch left main; on main, the last commit.

A test that starts a whole service depends on every room, by the imports on demand in functions/compose. Without --all these imports do
not count: the tests of a route group depend on their own folder instead, and attacks on the whole service are left to \`npm test\`.
A change of functions/kernel reaches more than half of the lane; the first line says how many files depend on a change.

No graph knows files that a test reads, starts by their name or imports by a computed path: pages, contracts as text, child
processes. After a change of the contract run \`npm run test:contract\`. With --all, a change of package.json or of the configuration of
Vitest runs everything.
`;

const { values } = parseArgs({
  options: {
    since: { type: 'string' },
    all: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) console.log(help);
else process.exitCode = main(values.since ?? start());

function main(since: string | undefined): number {
  const base = since === undefined ? 'HEAD' : git('merge-base', since, 'HEAD');
  if (values.all) {
    const verb = values.list ? ['list', '--filesOnly'] : ['run'];
    return vitest(
      ...verb,
      '--project',
      'plain*',
      '--passWithNoTests',
      ...(since === undefined ? ['--changed'] : ['--changed', since]),
    );
  }
  const changed = [
    ...git('diff', '--name-only', '--no-renames', '-z', base).split('\0'),
    ...git('ls-files', '-z', '--others', '--exclude-standard').split('\0'),
  ].filter(Boolean);
  const plain = new Set(testLanes(root).plain);
  const found = dependantsOf(changed, sources(), (path) => readFileSync(join(root, path), 'utf8'));
  const tests = found.filter((path) => plain.has(path));
  const nearest = tests.slice(0, NEAREST);
  const rest =
    tests.length > nearest.length ? `; the ${NEAREST} nearest run, \`npm test\` runs the others` : '';
  console.log(
    `${changed.length} files changed since ${base}; ${tests.length} of ${plain.size} plain test files depend on them${rest}`,
  );
  if (values.list) console.log(nearest.join('\n'));
  return values.list || nearest.length === 0 ? 0 : vitest('run', '--project', 'plain*', ...nearest);
}

/** Where the work of this branch begins; `undefined` while there are changes that are not committed. */
function start(): string | undefined {
  if (git('status', '--porcelain') !== '') return undefined;
  const [trunk] = git(
    'for-each-ref',
    '--format=%(refname)',
    'refs/heads/main',
    'refs/remotes/origin/main',
  ).split('\n');
  const head = git('rev-parse', 'HEAD');
  const fork = trunk === undefined || trunk === '' ? head : git('merge-base', trunk, 'HEAD');
  return fork === head ? 'HEAD~1' : fork;
}

function sources(): string[] {
  const folders = '{cli,contracts,dispatcher,emulator,examples,functions,scripts,sdk,test}/**/*.ts';
  return globSync(folders, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist|generated)$/.test(path),
  }).map((path) => path.replaceAll('\\', '/'));
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }).trim();
}

function vitest(...args: readonly string[]): number {
  const program = join(root, 'node_modules/vitest/vitest.mjs');
  return spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1;
}
