import { globSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { importsOf } from './structure.ts';

/**
 * `plain` needs nothing but Node and a shell. `rest` needs a database, an emulator, a browser or Python, or it takes long.
 * `nightly` takes too long for each change; only `npm run test:nightly` runs it, beside both others with more effort.
 */
export type Lane = 'plain' | 'rest' | 'nightly';

/** The lanes that a run of Vitest has. */
export function lanesOf(env: NodeJS.ProcessEnv): readonly Lane[] {
  return env['TEST_NIGHTLY'] === 'true' ? ['plain', 'rest', 'nightly'] : ['plain', 'rest'];
}

/** A test's requirement beside Node, by the module or package behind it. A file that imports one of these, also indirectly, is in `rest`. */
export const needs: Readonly<Record<string, string>> = {
  'test/support/firestore.ts': 'the Firestore emulator, which needs Java',
  'test/support/firestore-setup.ts': 'the Firestore emulator, which needs Java',
  'test/support/postgres.ts': 'PostgreSQL',
  'test/support/postgres-setup.ts': 'PostgreSQL',
  'test/support/mysql.ts': 'MariaDB',
  'test/support/mysql-setup.ts': 'MariaDB',
  'test/support/python.ts': 'Python',
  'sdk/python/tools.ts': 'Python',
  'test/support/browser.ts': 'Chromium',
  'playwright-core': 'Chromium',
  'test/support/terraform.ts': 'Terraform',
  'test/support/image.ts': 'buildah',
};

/** Opens the stores of a lane on demand: a test that needs only these stores is in both lanes. */
export const storesOfLane = 'test/conformance/stores/lane.ts';

/** The imports of a file: for a file of the project its path from the root, else the name of the package. */
export type Imports = (path: string) => readonly string[];

/** Reads each file once: hundreds of tests import the same modules. */
export function importsFrom(textOf: (path: string) => string | undefined): Imports {
  const known = new Map<string, readonly string[]>();
  return (path) => {
    const imports = known.get(path) ?? readImports(path, textOf);
    known.set(path, imports);
    return imports;
  };
}

function readImports(path: string, textOf: (path: string) => string | undefined): readonly string[] {
  const text = path.endsWith('.ts') && !path.includes('/generated/') ? textOf(path) : undefined;
  if (text === undefined) return [];
  return importsOf(text).map(({ specifier }) =>
    specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
  );
}

/** The reason why a test file is in `rest`; `undefined` if it is in `plain`. */
export function reasonForRest(path: string, importedBy: Imports): string | undefined {
  if (path.startsWith('test/system/')) return 'it runs whole processes';
  if (path.endsWith('.long.test.ts')) return 'its name says that it takes long';
  const seen = new Set<string>();
  const open = [path];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const target of importedBy(file)) {
      const need = needs[target];
      if (need !== undefined) return `it needs ${need}`;
      if (seen.has(target)) continue;
      seen.add(target);
      open.push(target);
    }
  }
  return undefined;
}

const COUNTS_WORK = 'it counts the work of its process, to which the files before it might add';
const REPLACES_MODULE = 'it replaces a module that other files have loaded';
/**
 * Plain files that run in their own process, each with the reason. All others share one process, which loads and compiles each
 * module once. Mocks, spies, a replaced clock and the environment end with their file there too.
 */
const ownProcess: Readonly<Record<string, string>> = {
  'functions/compose/layer.test.ts': REPLACES_MODULE,
  'test/wire/decided-jobs.test.ts': REPLACES_MODULE,
  'test/wire/long-reads.test.ts': REPLACES_MODULE,
  'test/security/characters-memory.test.ts': REPLACES_MODULE,
  'test/security/busy-jobs.test.ts': COUNTS_WORK,
  'test/security/busy-together.test.ts': COUNTS_WORK,
  'test/security/busy-turns.test.ts': COUNTS_WORK,
  'test/security/stream-readers.test.ts': 'it counts what its process holds',
};

export function hasOwnProcess(path: string): boolean {
  return Object.hasOwn(ownProcess, path);
}

export interface TestLanes extends Readonly<Record<Lane, readonly string[]>> {
  /** The files that test the stores of their lane. */
  readonly ofStores: readonly string[];
}

/** Every test file of the project, by its lane. */
export function testLanes(root: string): TestLanes {
  const importedBy = importsFrom((path) => read(join(root, path)));
  const files = globSync('**/*.test.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
  const isNightly = (path: string) => path.endsWith('.nightly.test.ts');
  const everyChange = files.filter((path) => !isNightly(path));
  const importedByPlain: Imports = (path) => (path === storesOfLane ? [] : importedBy(path));
  return {
    plain: everyChange.filter((path) => reasonForRest(path, importedByPlain) === undefined),
    rest: everyChange.filter((path) => reasonForRest(path, importedBy) !== undefined),
    nightly: files.filter(isNightly),
    ofStores: everyChange.filter((path) => importedBy(path).includes(storesOfLane)),
  };
}

/** The test files in a report of vitest, as paths from the root; empty without a report. */
export function reportedFiles(root: string, report: string | undefined): ReadonlySet<string> {
  const text = report === undefined ? undefined : read(join(root, report));
  if (text === undefined) return new Set();
  const { testResults } = JSON.parse(text) as { readonly testResults: readonly { readonly name: string }[] };
  return new Set(testResults.map(({ name }) => relative(root, name).replaceAll('\\', '/')));
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
