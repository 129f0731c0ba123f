import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Figures, judged } from '../../scripts/mutation/measure.ts';
import { pageWith, rowsOf } from '../../scripts/mutation/page.ts';
import { needs, storesOfLane } from '../lanes.ts';
import { type Code, codeOf, pureFiles } from './pure.ts';
import { filesOf, isMutable, leftOut, rooms } from './rooms.ts';

const root = resolve(import.meta.dirname, '../..');
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const codes = new Map<string, Code>();
const codeAt = (path: string) => {
  const code = codes.get(path) ?? codeOf(path, textOf(path));
  codes.set(path, code);
  return code;
};
const served = new Map(
  globSync('functions/**/*.ts', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter(isMutable)
    .sort()
    .map((path) => [path, codeAt(path)]),
);
const inRooms = Object.values(rooms).flatMap(({ files }) => filesOf(files, root));
const listed = new Set([...inRooms, ...filesOf(Object.keys(leftOut), root)]);

describe('the lists of files that mutation runs change', () => {
  test('have every pure file', () => {
    expect(pureFiles(served).filter((path) => !listed.has(path))).toEqual([]);
  });

  test('have a file once', () => {
    const mutated = inRooms.filter(isMutable);
    expect(mutated.filter((path, at) => mutated.indexOf(path) !== at)).toEqual([]);
  });

  test('have only patterns that find something', () => {
    const patterns = Object.values(rooms).flatMap(({ files, tests }) => [...files, ...tests]);
    expect(
      [...patterns, ...Object.keys(leftOut)].filter(
        (each) => filesOf([each.replace('!', '')], root).length === 0,
      ),
    ).toEqual([]);
  });

  const pure = 'export function twice(value: number): number {\n  return 2 * value;\n}\n';
  test.each([
    ['a rule', 'functions/graph/planted.ts', pure, true],
    [
      'a file that imports a pure one',
      'functions/graph/planted.ts',
      `import { isWellFormed } from '../kernel/identifiers.ts';\n${pure}`,
      true,
    ],
    [
      'a file that imports types of a port',
      'functions/graph/planted.ts',
      `import type { RecordStore } from '../store/port.ts';\n${pure}`,
      true,
    ],
    [
      'a file that reads a disk',
      'functions/graph/planted.ts',
      `import { readFileSync } from 'node:fs';\n${pure}`,
      false,
    ],
    [
      'a file that imports one that waits',
      'functions/graph/planted.ts',
      `import { readGraph } from './read-graph.ts';\n${pure}`,
      false,
    ],
    [
      'a file that waits',
      'functions/graph/planted.ts',
      'export async function wait(): Promise<void> {}\n',
      false,
    ],
    [
      'a file of types',
      'functions/graph/planted.ts',
      'export interface Planted {\n  readonly id: string;\n}\n',
      false,
    ],
    [
      'a file in a folder of rules that imports I/O',
      'functions/planted/rules/planted.ts',
      `import { readFileSync } from 'node:fs';\n${pure}`,
      true,
    ],
  ])('would lack %s: %s', (_name, path, text, isPure) => {
    const found = pureFiles(new Map([...served, [path, codeOf(path, text)]])).filter(
      (each) => !listed.has(each),
    );
    expect(found).toEqual(isPure ? [path] : []);
  });
});

/** Modules that make a test slow or dependent on the machine. `node:net` is absent: it also parses addresses. */
const machinery = /^node:(child_process|http|http2|https|worker_threads)$/;

describe('the tests that judge mutants', () => {
  const judges = [...new Set(Object.values(rooms).flatMap(({ tests }) => filesOf(tests, root)))];
  // The lane of a mutation run tests the store in memory alone.
  const importsAt = (path: string) =>
    path.endsWith('.ts') && !path.includes('/generated/') && path !== storesOfLane
      ? codeAt(path).imports
      : [];
  const machineryOf = (path: string) => {
    const seen = new Set([path]);
    for (const file of seen) for (const target of importsAt(file)) seen.add(target);
    return [...seen]
      .filter((each) => machinery.test(each) || needs[each] !== undefined)
      .map((each) => `${path}: ${each}`);
  };

  test('are in the plain lane, and start no process and no server', () => {
    expect(judges.filter((path) => /^test\/system\/|\.long\.test\.ts$/.test(path))).toEqual([]);
    expect(judges.flatMap(machineryOf)).toEqual([]);
  });

  test('would be found to start one', () => {
    expect(machineryOf('test/security/token-keys.test.ts')).toEqual([
      'test/security/token-keys.test.ts: node:http',
    ]);
  });
});

describe('the page of quality', () => {
  const page = textOf('docs/quality.md');
  const figures: Figures = {
    room: 'jobs',
    commit: '0123456789ab',
    version: '1.2.3',
    day: '2030-01-02',
    mutants: 8,
    found: 6,
    linesPercent: 99.5,
    survivors: [],
  };
  const blank = 'Before\n<!-- measured: begin -->\n<!-- measured: end -->\nafter';

  test('has a row for each room and no other', () => {
    expect([...rowsOf(page).keys()]).toEqual(Object.keys(rooms));
  });

  test('names version, commit and date of each figure, or that there is no figure', () => {
    const row = /\| (not measured yet|\d{4}-\d\d-\d\d, \d+\.\d+\.\d+ at [0-9a-f]{12}) \|$/;
    expect([...rowsOf(page).values()].filter((each) => !row.test(each))).toEqual([]);
  });

  test('names only files that exist', () => {
    const part = page.slice(page.indexOf('## Coverage and mutation'));
    const named = [...part.matchAll(/`((?:functions|test|scripts)\/[^`*{:]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.filter((path) => globSync(path, { cwd: root }).length === 0)).toEqual([]);
  });

  test('gets new figures, keeps older ones, and drops a room that was removed', () => {
    const first = pageWith(blank, ['jobs', 'gone'], [figures, { ...figures, room: 'gone' }]);
    const second = pageWith(first, ['jobs', 'graph'], []);
    expect(first.startsWith('Before\n') && first.endsWith('\nafter')).toBe(true);
    expect([...rowsOf(second)]).toEqual([
      ['jobs', '| `jobs` | 8 | 6 | 75.0 | 99.5 | 2030-01-02, 1.2.3 at 0123456789ab |'],
      ['graph', '| `graph` | | | | | not measured yet |'],
    ]);
  });

  test('counts mutants that a test could find', () => {
    const mutant = (status: string) => ({
      status,
      mutatorName: 'BooleanLiteral',
      replacement: 'false',
      location: { start: { line: 2 } },
    });
    const mutants = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'CompileError'].map(mutant);
    expect(judged({ files: { 'a.ts': { source: 'first\n  true;', mutants } } })).toEqual({
      mutants: 4,
      found: 2,
      survivors: Array.from({ length: 2 }, () => '- `a.ts:2` BooleanLiteral → `false`: `true;`'),
    });
  });
});
