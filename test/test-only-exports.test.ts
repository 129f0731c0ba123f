import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tagFaults, taggedIn } from './test-only-exports.ts';

const root = resolve(import.meta.dirname, '..');
const paths = [
  'functions',
  'contracts',
  'cli',
  'emulator',
  'dispatcher',
  'scripts',
  'examples',
  'sdk',
  'test',
]
  .flatMap((room) =>
    globSync(`${room}/**/*.{ts,mjs}`, { cwd: root, exclude: ['**/node_modules', '**/dist'] }),
  )
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.includes('/generated/') && !path.includes('/node_modules/'));
/** The files that the check of unused product code leaves out, too. */
const isOfTests = (path: string) =>
  /\.(?:test|fixture)\.ts$|^test\/|^sdk\/(?:typescript\/test|scenario|python\/tests)\//.test(path) ||
  path === 'scripts/test-totals/reporter.mjs';
const textsOf = (wanted: readonly string[]) =>
  new Map(wanted.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const product = textsOf(paths.filter((path) => !isOfTests(path)));
const tests = textsOf(paths.filter(isOfTests));

const copied = 'a copy of functions/kernel/json-text.ts, whose test imports the name';

/** Faults that may stay, with the reason. The list only shrinks. */
const allowed: Readonly<Record<string, string>> = {
  'dispatcher/json-text.ts: no test imports hasEscapedName': copied,
  'sdk/typescript/src/json-text.ts: no test imports hasEscapedName': copied,
};

describe('an export with the tag of tests', () => {
  test('is imported by a test and used in its own file', () => {
    const found = tagFaults(product, tests);
    expect(found.filter((fault) => !(fault in allowed))).toEqual([]);
    expect(Object.keys(allowed).filter((fault) => !found.includes(fault))).toEqual([]);
    expect([...product.values()].flatMap(taggedIn).length).toBeGreaterThan(80);
  });

  const file = (code: string) => new Map([['functions/a.ts', `/**\n * Why.\n * @testonly\n */\n${code}\n`]]);
  const importing = (line: string) => new Map([['test/a.test.ts', line]]);
  const imported = importing("import { type Other, LIMIT } from '../functions/a.ts';");

  test('is found where only tests use it', () => {
    const unused = ['functions/a.ts: only tests use LIMIT'];
    expect(tagFaults(file('export const LIMIT = 1;'), imported)).toEqual(unused);
    expect(tagFaults(file("export const LIMIT = 1;\n// LIMIT\nconst text = 'LIMIT';"), imported)).toEqual(
      unused,
    );
    const recursive = 'export function LIMIT(\n  n: number,\n): number {\n  return LIMIT(n);\n}';
    expect(tagFaults(file(recursive), imported)).toEqual(unused);
    expect(tagFaults(file('export const LIMIT = 1;\nconst twice = LIMIT * 2;'), imported)).toEqual([]);
  });

  test('is found where no test imports it from its file', () => {
    const used = file('export const LIMIT = 1;\nconst twice = LIMIT * 2;');
    const others = [
      '',
      "import { LIMIT } from '../functions/b.ts';",
      "import { Other } from '../functions/a.ts';",
    ];
    for (const line of others) {
      expect(tagFaults(used, importing(line))).toEqual(['functions/a.ts: no test imports LIMIT']);
    }
    expect(tagFaults(used, importing("import * as a from '../functions/a.ts';\na.LIMIT;"))).toEqual([]);
  });

  test('is found before a declaration that is not exported', () => {
    expect(tagFaults(file('const LIMIT = 1;'), imported)).toEqual([
      'functions/a.ts: the tag stands before no export',
    ]);
  });

  test('of the real files is found when its use is gone', () => {
    const path = 'functions/providers/rules/circuit.ts';
    const text = (product.get(path) ?? '').replaceAll(/(?<!const )\bFAILURES_MAX\b/g, '5');
    expect(tagFaults(new Map([[path, text]]), tests)).toEqual([`${path}: only tests use FAILURES_MAX`]);
  });
});
