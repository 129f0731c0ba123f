import { globSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operations } from '../contracts/generated/operations.ts';
import type { OperationEntry } from '../contracts/operation.ts';
import {
  banFaults,
  bans,
  chanceFaults,
  gatheringFaults,
  headFaults,
  importCycles,
  importFaults,
  importPairs,
  importsOf,
  namedFaults,
  patternsOf,
  roomOf,
} from './structure.ts';

const root = resolve(import.meta.dirname, '..');
const files = globSync('functions/**/*.ts', { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/\.(test|fixture)\.ts$/.test(path))
  .sort();
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

/** Everything that imports something, in each part of the repository. */
const parts = [
  'functions',
  'sdk',
  'contracts',
  'emulator',
  'cli',
  'scripts',
  'dispatcher',
  'infra',
  'test',
  'examples',
] as const;
const modules = globSync([`{${parts.join()}}/**/*.{ts,mts,js,mjs}`, '*.{ts,js}'], {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
})
  .map((path) => path.replaceAll('\\', '/'))
  .sort();

test('the source of the service is found', () => {
  expect(files).toContain('functions/compose/compose.ts');
  expect(files.length).toBeGreaterThan(50);
});

describe('the direction of imports', () => {
  test('holds in every file', () => {
    expect(files.flatMap((path) => importFaults(path, textOf(path)))).toEqual([]);
  });

  const planted: [string, string, string][] = [
    [
      'a group that imports another',
      'functions/groups/canonical/x.ts',
      `import { a } from '../server/health.ts';`,
    ],
    [
      'a group that imports a provider',
      'functions/groups/canonical/x.ts',
      `import { a } from '../../store/sqlite/store.ts';`,
    ],
    [
      'a group that loads a provider',
      'functions/groups/canonical/x.ts',
      `await import('../../store/sqlite/store.ts');`,
    ],
    [
      'a group that imports the settings',
      'functions/groups/server/x.ts',
      `import { a } from '../../config/table.ts';`,
    ],
    [
      'a group that imports the composition',
      'functions/groups/server/x.ts',
      `import { a } from '../../compose/compose.ts';`,
    ],
    [
      'a provider that imports another',
      'functions/store/sqlite/x.ts',
      `import { a } from '../firestore/list.ts';`,
    ],
    [
      'a provider that imports a group',
      'functions/store/sqlite/x.ts',
      `import type { A } from '../../groups/canonical/commit/commit.ts';`,
    ],
    ['a port that imports a provider', 'functions/store/port.ts', `export { a } from './sqlite/store.ts';`],
    [
      'a group that loads a place for objects',
      'functions/groups/canonical/x.ts',
      `await import('../../blobs/files/store.ts');`,
    ],
    [
      'a place for objects that imports a store',
      'functions/blobs/files/x.ts',
      `import '../../store/port.ts';`,
    ],
    ['http that imports a group', 'functions/http/x.ts', `import '../groups/canonical/handlers.ts';`],
    ['a kernel that imports http', 'functions/kernel/x.ts', `import {\n  a,\n} from '../http/chain.ts';`],
    ['a room without a rule', 'functions/utils/x.ts', `import { a } from '../kernel/world.ts';`],
    [
      'a composition that binds a provider',
      'functions/compose/compose.ts',
      `import { a } from '../store/sqlite/store.ts';`,
    ],
    ['an entry that loads a provider', 'functions/index.ts', `await import('./store/sqlite/store.ts');`],
    ['a run engine that imports a group', 'functions/runs/x.ts', `import '../groups/execution/wire.ts';`],
    ['a run engine that knows of HTTP', 'functions/runs/x.ts', `import '../http/handler.ts';`],
    [
      'an endpoint for models that imports a group',
      'functions/mcp/x.ts',
      `import '../groups/canonical/records.ts';`,
    ],
    ['http that imports the endpoint for models', 'functions/http/x.ts', `import '../mcp/endpoint.ts';`],
    ['a job that imports a group', 'functions/jobs/x.ts', `import '../groups/canonical/records.ts';`],
    ['a run engine that imports the jobs', 'functions/runs/x.ts', `import '../jobs/job.ts';`],
    [
      'a group that imports the HTTP part of one that it may use',
      'functions/groups/rag/x.ts',
      `import '../graph/handlers.ts';`,
    ],
    [
      'a library part that imports its own HTTP part',
      'functions/groups/graph/library/x.ts',
      `import '../handlers.ts';`,
    ],
    [
      'a rule of searches that imports a flow',
      'functions/collections/search/x.ts',
      `import { readQuery } from '../page-request.ts';`,
    ],
    [
      'a rule of searches that imports the store',
      'functions/collections/search/x.ts',
      `import { StoreError } from '../../store/port.ts';`,
    ],
    ['a composition that binds a queue', 'functions/compose/x.ts', `import '../queue/local/local-queue.ts';`],
    ['a package in a group', 'functions/groups/canonical/x.ts', `import ajv from 'ajv';`],
    [
      'another room with the driver',
      'functions/http/x.ts',
      `import { Firestore } from '@google-cloud/firestore';`,
    ],
  ];
  test.each(planted)('finds %s', (_, path, text) => {
    expect(importFaults(path, text)).toHaveLength(1);
  });

  test('every group of the contract has its room', () => {
    const rooms = new Set(files.map(roomOf));
    for (const { group } of Object.values(operations)) expect(rooms).toContain(`groups/${group}`);
  });

  test('lets the composition load providers on demand', () => {
    expect(importFaults('functions/compose/compose.ts', `await import('../store/sqlite/store.ts');`)).toEqual(
      [],
    );
  });

  test('reads every form of import, and no comment', () => {
    const text = `import a from 'a';\nimport 'b';\nexport * from 'c';\nimport type { D } from 'd';\nawait import('e');\n// import 'f';`;
    expect(importsOf(text).map(({ specifier }) => specifier)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test.each([
    ['functions/index.ts', 'root'],
    ['functions/compose/compose.ts', 'compose'],
    ['functions/groups/rag/ingest/plan.ts', 'groups/rag'],
    ['functions/groups/rag/library/plan.ts', 'groups/rag/library'],
    ['functions/store/port.ts', 'store'],
    ['functions/store/sqlite/store.ts', 'store/sqlite'],
    ['functions/store/nearest/nearest-search.ts', 'store'],
    ['functions/blobs/files/store.ts', 'blobs/files'],
    ['functions/groups/canonical/commit/commit.ts', 'groups/canonical'],
  ])('%s lies in the room %s', (path, room) => {
    expect(roomOf(path)).toBe(room);
  });
});

describe('files that import each other in a circle', () => {
  const texts = new Map(modules.map((path) => [path, textOf(path)]));
  const textsOf = (part: string) => new Map([...texts].filter(([path]) => path.startsWith(`${part}/`)));
  const isJoined = (part: string) => importPairs(textsOf(part)).length > 0;

  test('do not exist', () => {
    expect(importCycles(texts)).toEqual([]);
  });

  test.each(parts.filter(isJoined))(
    'are found in %s, when a file that another one imports imports it back',
    (part) => {
      const own = textsOf(part);
      const [[importer, imported] = ['', '']] = importPairs(own);
      const back = `import type { A } from '${relativeTo(imported, importer)}';`;
      const planted = new Map([...own, [imported, `${back}\n${own.get(imported)}`]]);
      expect(importCycles(planted).flat()).toEqual(expect.arrayContaining([importer, imported]));
    },
  );

  test('are looked for in every part that has modules which import each other', () => {
    expect(parts.filter((part) => !isJoined(part))).toEqual(['infra']);
  });

  const closing: [string, string][] = [
    ['by value', `import { a } from './a.ts';`],
    ['by type alone', `import type { A } from './a.ts';`],
    ['on demand', `await import('./a.ts');`],
    ['by a re-export', `export * from '../runs/a.ts';`],
  ];
  test.each(closing)('are found when the last import closes the circle %s', (_, text) => {
    const planted = new Map([
      ['functions/runs/a.ts', `import { b } from './b.ts';`],
      ['functions/runs/b.ts', `import type { C } from './c.ts';`],
      ['functions/runs/c.ts', text],
      ['functions/runs/beside.ts', `import { a } from './a.ts';\nimport './gone.ts';`],
    ]);
    expect(importCycles(planted)).toEqual([
      ['functions/runs/a.ts', 'functions/runs/b.ts', 'functions/runs/c.ts'],
    ]);
  });

  test('are reported separately, and a file that imports itself is a circle', () => {
    const planted = new Map([
      ['functions/a.ts', `import './a.ts';`],
      ['functions/b.ts', `import './a.ts';\nimport './c.ts';`],
      ['functions/c.ts', `import './b.ts';`],
    ]);
    expect(importCycles(planted)).toEqual([['functions/a.ts'], ['functions/b.ts', 'functions/c.ts']]);
  });
});

function relativeTo(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}

describe('globals that only the composition and the providers may use', () => {
  test('is touched nowhere else', () => {
    expect(files.flatMap((path) => banFaults(path, textOf(path)))).toEqual([]);
  });

  const planted: Readonly<Record<string, readonly string[]>> = {
    'process.env': ['const port = process.env.PORT;', `process['env']`],
    'process.argv': ['process.argv.slice(2)'],
    'Date.now': ['const now = Date.now();', 'const clock = { now: Date.now };'],
    'new Date()': ['new Date().toISOString()', 'new Date( )'],
    'performance.now': ['performance.now()'],
    'Math.random': ['Math.random()'],
    'randomness of node:crypto': [`import { randomBytes } from 'node:crypto';`, 'crypto.randomUUID()'],
    setTimeout: ['setTimeout(() => {}, 5)', '  setTimeout (a, 1)'],
    setInterval: ['setInterval(() => {}, 5)'],
    fetch: [`await fetch('http://elsewhere')`],
  };
  test('every ban is proven', () => {
    expect(Object.keys(planted)).toEqual(bans.map((ban) => ban.what));
  });
  test.each(Object.entries(planted))('a use of %s is found', (what, snippets) => {
    for (const snippet of snippets) {
      expect(banFaults('functions/groups/canonical/x.ts', snippet).join(), snippet).toContain(
        `uses ${what};`,
      );
    }
  });

  test('similar code is accepted', () => {
    const harmless = [
      'new Date(milliseconds).toISOString()',
      '// setTimeout() would do',
      'world.http(url)',
      'server.setTimeout(0)',
      'this.fetch(1)',
    ];
    for (const text of harmless) expect(banFaults('functions/groups/canonical/x.ts', text), text).toEqual([]);
  });

  test('the composition and the providers may use them', () => {
    expect(banFaults('functions/compose/machine.ts', 'Date.now(); setTimeout(a, 1); fetch(b)')).toEqual([]);
    expect(banFaults('functions/store/sqlite/x.ts', 'setTimeout(a, 1)')).toEqual([]);
    expect(banFaults('functions/config/machine.ts', 'process.env')).toEqual([]);
    expect(banFaults('functions/compose/compose.ts', 'process.env')).toHaveLength(1);
  });
});

describe('code that gathers a stream of bytes', () => {
  const readers = globSync('{functions,cli,dispatcher,emulator,sdk/typescript/src}/**/*.ts', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/\.(test|fixture)\.ts$/.test(path));

  test('keeps no list of its pieces', () => {
    expect(readers.length).toBeGreaterThan(500);
    expect(readers.flatMap((path) => gatheringFaults(path, textOf(path)))).toEqual([]);
  });

  test.each([
    'for await (const chunk of body) chunks.push(chunk);',
    'for await (const piece of body as AsyncIterable<Buffer>) {\n  size += piece.length;\n  pieces.push(piece as Buffer);\n}',
  ])('is found where it does: %s', (text) => {
    expect(gatheringFaults('cli/x.ts', text)).toHaveLength(1);
    expect(gatheringFaults('cli/x.ts', text.replace('push', 'add'))).toEqual([]);
  });
});

describe('code that copies the head of a record', () => {
  /** Copies that may keep the count, each with the reason. */
  const counted: Readonly<Record<string, string>> = {
    'functions/collections/entry-range.ts': 'the head goes back into its record',
    'functions/collections/entry-versions.ts': 'it takes the marks alone',
    'functions/collections/retired.ts': 'a claim that stays in the process',
    'functions/collections/reindex-sweep.ts': 'a claim that stays in the process',
  };

  test('leaves its count behind', () => {
    expect(files.filter((path) => headFaults(path, textOf(path)).length > 0)).toEqual(
      Object.keys(counted).sort(),
    );
  });

  test.each([
    ['functions/runs/artifact.ts', 'uncounted(record.head)', 'record.head'],
    ['functions/runs/copies/archive-lines.ts', 'head: uncounted(head)', 'head'],
    ['functions/collections/copies/archive-lines.ts', 'uncounted(head)', 'head'],
    ['functions/groups/canonical/copies/snapshot/record-values.ts', 'uncounted(head)', 'head'],
  ])('is found where %s does not', (path, right, wrong) => {
    const text = textOf(path);
    expect(text).toContain(right);
    expect(headFaults(path, text.replace(right, wrong))).toHaveLength(1);
  });

  test('is let through where the copy is written back', () => {
    const text = `import type { RecordData } from '../store/port.ts';\nreturn { ...record, head: { ...record.head, due } };`;
    expect(headFaults('functions/runs/x.ts', text)).toEqual([]);
  });
});

describe('random values of a test', () => {
  const tests = globSync(
    [
      'test/**/*.ts',
      '{functions,cli,dispatcher,emulator,sdk,contracts,scripts,examples}/**/*.{test,fixture}.ts',
    ],
    {
      cwd: root,
      exclude: (path) => /(^|\/)node_modules$/.test(path),
    },
  )
    .map((path) => path.replaceAll('\\', '/'))
    .filter(
      (path) =>
        !/^test\/(bench|structure|dispatcher\/structure)\b|^sdk\/typescript\/test\/structure/.test(path),
    );

  test('comes from a seed', () => {
    expect(tests).toContain('test/system/kill.test.ts');
    expect(tests).toContain('functions/http/path.test.ts');
    expect(tests.flatMap((path) => chanceFaults(path, textOf(path)))).toEqual([]);
  });

  test.each(['if (Math.random() < 0.1) kill();', `import { randomInt } from 'node:crypto';`])(
    'is found where it comes from chance: %s',
    (text) => {
      expect(chanceFaults('test/x.test.ts', text)).toHaveLength(1);
      expect(chanceFaults('test/x.test.ts', `// ${text}`)).toEqual([]);
    },
  );
});

test('http names no group, no class and no path parameter of the contract', () => {
  const entries = Object.values<OperationEntry>(operations);
  const named = [
    ...entries.flatMap(({ authorizationClass }) =>
      authorizationClass === 'anonymous' ? [] : authorizationClass,
    ),
    // JSON has objects too.
    ...entries.map(({ group }) => group).filter((group) => group !== 'server' && group !== 'objects'),
    // A parameter of one word, such as `id` or `value`, is a word of HTTP and of the language as well.
    ...entries.flatMap(({ routes }) =>
      routes.flatMap(({ path }) => path.flatMap(({ name }) => (/[A-Z]/.test(name) ? name : []))),
    ),
    'artifact',
  ];
  const names = [...new Set(named)];
  expect(names).toEqual(expect.arrayContaining(['canonical', 'tenantId', 'runId', 'execution-policy']));
  expect(files.flatMap((path) => namedFaults(path, textOf(path), names))).toEqual([]);
  expect(namedFaults('functions/http/x.ts', `const limited = 'canonical-policy';`, names)).toHaveLength(1);
  expect(namedFaults('functions/http/x.ts', 'const { tenantId } = params;', names)).toHaveLength(1);
});

test('regular expressions are distinguished from divisions, strings and comments', () => {
  const text = `const a = /^[/'"]+$/u;\nf(/a\\/b/g, 4 / 2 / 1); // /no/\nconst s = 'a /no/ b';\n/* /no/ */ return /c/.test(x);`;
  expect(patternsOf(text)).toEqual([
    { source: `^[/'"]+$`, flags: 'u' },
    { source: 'a\\/b', flags: 'g' },
    { source: 'c', flags: '' },
  ]);
});
