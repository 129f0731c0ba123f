import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsFrom, lanesOf, needs, reasonForRest, reportedFiles, testLanes } from './lanes.ts';

const root = resolve(import.meta.dirname, '..');
const lanes = testLanes(root);

/** The reason for a file in a project of these texts. */
const reason = (path: string, texts: Readonly<Record<string, string>>) =>
  reasonForRest(
    path,
    importsFrom((file) => texts[file]),
  );

describe('the lanes', () => {
  test('have every test file once, except those that test the stores of their lane', () => {
    const files = globSync(
      '{cli,contracts,dispatcher,emulator,examples,functions,scripts,sdk,test}/**/*.test.ts',
      {
        cwd: root,
        exclude: (path) => path.endsWith('node_modules'),
      },
    );
    expect([...new Set([...lanes.plain, ...lanes.rest, ...lanes.nightly])].sort()).toEqual(files.sort());
    const isRest = new Set(lanes.rest);
    const isOfStores = new Set(lanes.ofStores);
    expect(lanes.plain.filter((path) => isRest.has(path) && !isOfStores.has(path))).toEqual([]);
    expect(lanes.plain.filter((path) => isRest.has(path)).length).toBeGreaterThan(15);
    // A plain lane with a database would skip its tests and stay green.
    expect(lanes.ofStores.filter((path) => !isRest.has(path))).toEqual([]);
    expect(lanes.plain.length).toBeGreaterThan(100);
    expect(lanes.rest.length).toBeGreaterThan(50);
  });

  test('give a file to the nightly lane by its name alone, wherever it is', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-lanes-'));
    mkdirSync(join(folder, 'test/system'), { recursive: true });
    const paths = [
      'test/a.test.ts',
      'test/a.long.test.ts',
      'test/a.nightly.test.ts',
      'test/system/b.nightly.test.ts',
    ];
    for (const path of paths) writeFileSync(join(folder, path), '');
    const [plain, rest, ...nightly] = paths;
    expect(testLanes(folder)).toEqual({ plain: [plain], rest: [rest], nightly, ofStores: [] });
    rmSync(folder, { recursive: true });
  });

  test('are three only in a nightly run', () => {
    expect(lanesOf({ TEST_NIGHTLY: 'true' })).toEqual(['plain', 'rest', 'nightly']);
    expect([lanesOf({}), lanesOf({ TEST_NIGHTLY: 'false' })]).toEqual([
      ['plain', 'rest'],
      ['plain', 'rest'],
    ]);
  });

  test('leave out the files of the report that an earlier step of the run has made', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-lanes-'));
    const testResults = [{ name: join(folder, 'test/a.test.ts') }, { name: join(folder, 'b.test.ts') }];
    writeFileSync(join(folder, 'report.json'), JSON.stringify({ testResults }));
    expect([...reportedFiles(folder, 'report.json')]).toEqual(['test/a.test.ts', 'b.test.ts']);
    expect([...reportedFiles(folder, 'missing.json'), ...reportedFiles(folder, undefined)]).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('list each module that opens a database, an emulator, a browser or Python', () => {
    const known = globSync('test/support/{*-setup,python,browser,firestore,postgres,mysql,terraform}.ts', {
      cwd: root,
    });
    expect(Object.keys(needs)).toEqual(expect.arrayContaining(known));
    for (const path of Object.keys(needs).filter((need) => need.endsWith('.ts')))
      expect(globSync(path, { cwd: root }), path).toEqual([path]);
  });

  test.each(Object.keys(needs))('a test that imports %s is not plain', (need) => {
    const specifier = need.endsWith('.ts') ? `../../${need}` : need;
    expect(reason('test/x/a.test.ts', { 'test/x/a.test.ts': `import { a } from '${specifier}';` })).toContain(
      needs[need],
    );
  });

  test('a test that imports one through other modules, or on demand, is not plain', () => {
    const texts = {
      'test/x/a.test.ts': `import './b.ts';`,
      'test/x/b.ts': `import './a.test.ts';\nexport * from './c.ts';`,
      'test/x/c.ts': `await import('../support/postgres.ts');`,
    };
    expect(reason('test/x/a.test.ts', texts)).toBe('it needs PostgreSQL');
  });

  test('a test of whole processes, and one with a name for long tests, are not plain', () => {
    expect(reason('test/system/a.test.ts', {})).toBeDefined();
    expect(reason('test/x/a.long.test.ts', {})).toBeDefined();
    expect(reason('test/x/a.test.ts', { 'test/x/a.test.ts': `import './b.ts';` })).toBeUndefined();
  });
});

test('a plain test finds no Java, no database, no browser and no Python', () => {
  const found = globSync('{java,postgres,initdb,mariadbd,mysqld,chromium*,google-chrome*,python*}', {
    cwd: process.env['PATH'] ?? '',
  });
  expect(found).toEqual([]);
});
