import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

const script = resolve(import.meta.dirname, 'test-totals.mjs');
const folder = mkdtempSync(join(tmpdir(), 'svc-totals-'));
const budgets = join(folder, 'test/budgets.json');
mkdirSync(join(folder, 'test'));
beforeEach(() => writeFileSync(budgets, '{}'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, statuses: readonly string[], more: object = {}) => ({
  name: join(folder, name),
  status: statuses.includes('failed') || statuses.length === 0 ? 'failed' : 'passed',
  assertionResults: statuses.map((status, at) => ({
    fullName: `${name} ${at}`,
    status,
    failureMessages: status === 'failed' ? [`message of ${name} ${at}`] : [],
  })),
  ...more,
});

/** Seconds of one file, as the reporter writes them in milliseconds. */
const times = (name: string, parts: Readonly<Record<string, number>>, errors: readonly string[] = []) => {
  const ms = Object.fromEntries(Object.entries(parts).map(([part, seconds]) => [part, seconds * 1_000]));
  return { name, startUp: 0, import: 0, hooks: 0, tests: 0, cpu: 0, ...ms, count: 1, errors };
};

function writeTimes(lane: string, files: readonly ReturnType<typeof times>[], more: object = {}) {
  const all = { lane, seed: '0', wallMs: 5_000, calibrationMs: 20, errors: [], files, ...more };
  writeFileSync(join(folder, `${lane}-times.json`), JSON.stringify(all));
}

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, TEST_NIGHTLY: '', ...env },
  });
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  return { status, stdout, lines: lines.map((line) => line.trim()), last: lines.at(-1) };
}

function totals(...reports: readonly (readonly ReturnType<typeof file>[] | string)[]) {
  const paths = reports.map((report, at) => {
    const path = join(folder, `${at}.json`);
    if (report === 'missing') return join(folder, 'missing.json');
    writeFileSync(path, JSON.stringify({ testResults: report }));
    return path;
  });
  return run(paths);
}

/** The totals of one lane whose only test has passed. */
function totalsOf(name: string, env?: Readonly<Record<string, string>>) {
  const report = [file('test/a.test.ts', ['passed'])];
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ testResults: report }));
  return run([`${name}.json`], env);
}

describe('the totals of several reports', () => {
  test('are added up, also of a file that each lane runs with other stores', () => {
    const both = file('test/b.test.ts', ['passed', 'skipped']);
    const { status, last, lines } = totals([file('test/a.test.ts', ['passed']), both], [both]);
    expect([status, last]).toEqual([0, '3 passed, 0 failed, 2 skipped']);
    expect(lines).toContain('skipped: test/b.test.ts 1');
  });

  test('have both runs of a file that two projects of one report share', () => {
    const shared = file('test/b.test.ts', ['passed']);
    expect(totals([shared, shared]).last).toBe('2 passed, 0 failed, 0 skipped');
  });

  test('have the failures of tests and of files that cannot be loaded, with their messages', () => {
    const { status, lines } = totals(
      [file('test/a.test.ts', ['passed', 'failed'])],
      [file('test/b.test.ts', ['passed']), file('test/c.test.ts', [], { message: 'no module x' })],
    );
    expect(status).toBe(1);
    expect(lines.slice(-5)).toEqual([
      'failed: test/a.test.ts > test/a.test.ts 1',
      'message of test/a.test.ts 1',
      'failed: test/c.test.ts',
      'no module x',
      '2 passed, 2 failed, 0 skipped',
    ]);
  });

  test('show the start of a message that is long or has long lines, and no call of a library', () => {
    const lines = Array.from({ length: 100 }, (_, at) => `line ${at}`);
    const { stdout } = totals([
      file('test/a.test.ts', [], {
        message: ['x'.repeat(9_000), '    at f (/node_modules/a.js:1:1)', ...lines].join('\n'),
      }),
      file('test/b.test.ts', ['passed']),
    ]);
    expect(stdout).toContain('… (9000 characters)');
    expect(stdout).toContain('line 38\n    … and 61 more lines\n');
    expect(stdout.length).toBeLessThan(2_000);
  });

  test('count a test without a result as failed: its process died', () => {
    const { status, last, lines } = totals([file('test/a.test.ts', ['passed', 'pending', 'todo'])]);
    expect([status, last]).toEqual([1, '1 passed, 1 failed, 1 skipped']);
    expect(lines).toContain('without a result: test/a.test.ts > test/a.test.ts 1');
  });

  test.each([
    ['is missing', 'missing'],
    ['is empty', []],
  ])('fail where a report %s', (_, report) => {
    const { status, last } = totals([file('test/a.test.ts', ['passed'])], report);
    expect([status, last]).toEqual([1, '1 passed, 1 failed, 0 skipped']);
  });

  test('fail where no report is named', () => {
    expect(totals()).toMatchObject({ status: 1, last: '0 passed, 1 failed, 0 skipped' });
  });
});

describe('the times of a lane', () => {
  test('have the hooks and the import of each file, the slowest first, and the sums of each folder', () => {
    writeTimes('plain', [
      times('functions/groups/canonical/commit/a.test.ts', { tests: 2, cpu: 1 }),
      times('functions/groups/canonical/b.test.ts', { startUp: 0.1, import: 2.9, cpu: 2 }),
      times('test/security/c.test.ts', { hooks: 82.6, tests: 0.1, cpu: 80 }),
    ]);
    const { status, lines } = totalsOf('plain');
    expect(status).toBe(0);
    expect(lines[1]).toBe(
      'plain: 5.0 s of wall time; 3 tests in 3 files, which take 87.7 s one after the other; seed 0: fixed seeds, as written in the files',
    );
    expect(lines.map((line) => line.replaceAll(/ +/g, ' ')).slice(3, 11)).toEqual([
      'total start-up import hooks tests cpu count',
      '82.7 0.0 0.0 82.6 0.1 80.0 1 test/security/c.test.ts',
      '3.0 0.1 2.9 0.0 0.0 2.0 1 functions/groups/canonical/b.test.ts',
      '2.0 0.0 0.0 0.0 2.0 1.0 1 functions/groups/canonical/commit/a.test.ts',
      'By folder, all its files one after the other, in seconds:',
      'total start-up import hooks tests cpu count',
      '82.7 0.0 0.0 82.6 0.1 80.0 1 test/security',
      '5.0 0.1 2.9 0.0 2.0 3.0 2 functions/groups/canonical',
    ]);
  });

  test('name the seed of a run that drew its own', () => {
    writeTimes('plain', [], { seed: '77' });
    expect(totalsOf('plain').lines[1]).toContain('seed 77: TEST_SEED=77');
  });

  test('bring the errors of hooks and those outside all tests, which count as failures', () => {
    writeTimes('0', [times('test/a.test.ts', {}, ['Error: beforeAll of a suite'])], {
      errors: ['Error: unhandled'],
    });
    const { status, lines } = totals([file('test/a.test.ts', ['passed'], { status: 'failed' })]);
    rmSync(join(folder, '0-times.json'));
    expect(status).toBe(1);
    expect(lines.slice(-5)).toEqual([
      'failed: test/a.test.ts',
      'Error: beforeAll of a suite',
      '0: an error outside all tests',
      'Error: unhandled',
      '1 passed, 2 failed, 0 skipped',
    ]);
  });
});

describe('a budget', () => {
  const nightly = { TEST_NIGHTLY: 'true' };
  const measured = (cpu: number, calibrationMs: number) =>
    writeTimes('plain', [times('test/x/a.test.ts', { cpu }), times('b.test.ts', { cpu: 0.1 })], {
      calibrationMs,
    });
  const warningsOf = ({ lines }: ReturnType<typeof run>) =>
    lines.filter((line) => line.startsWith('warning: '));
  const plain = (folders: object) =>
    writeFileSync(budgets, JSON.stringify({ plain: { calibrationMs: 20, folders } }));

  test('is written from a run, and that run keeps it', () => {
    measured(10.01, 20);
    writeFileSync(budgets, '{"rest":{"calibrationMs":1,"folders":{}}}');
    expect(run(['--write-budgets', 'plain.json']).status).toBe(0);
    expect(JSON.parse(readFileSync(budgets, 'utf8'))).toEqual({
      rest: { calibrationMs: 1, folders: {} },
      plain: { calibrationMs: 20, folders: { '': 0.1, 'test/x': 10.1 } },
    });
    expect(warningsOf(totalsOf('plain', nightly))).toEqual([]);
  });

  test.each([
    ['half as much again', 10, 15.1, 20, true],
    ['less than that', 10, 14.9, 20, false],
    ['two seconds more', 0.1, 2.2, 20, true],
    ['less than two seconds more, though many times as much', 0.1, 2, 20, false],
    ['on a machine of half the speed, twice as much', 10, 20, 40, false],
    ['on a machine of twice the speed, nearly as much', 10, 9, 10, true],
  ])('judges a folder that takes %s', (_, budget, cpu, calibrationMs, isAbove) => {
    measured(cpu, calibrationMs);
    plain({ 'test/x': budget, '': 0.1 });
    const used = ((cpu * 20) / calibrationMs).toFixed(1);
    const warning = `warning: plain: test/x took ${used} s of processor time; its budget is ${budget.toFixed(1)} s`;
    const everyDay = totalsOf('plain');
    expect(warningsOf(everyDay)).toEqual(isAbove ? [warning] : []);
    expect([everyDay.status, everyDay.last]).toEqual([0, '1 passed, 0 failed, 0 skipped']);
    const night = totalsOf('plain', nightly);
    expect([night.status, night.last]).toEqual(
      isAbove ? [1, '1 passed, 1 failed, 0 skipped'] : [0, '1 passed, 0 failed, 0 skipped'],
    );
  });

  test('may be missing: the run says so', () => {
    measured(10, 20);
    expect(warningsOf(totalsOf('plain', nightly))).toEqual([
      'warning: plain: no budget in test/budgets.json',
    ]);
    plain({ '': 1 });
    expect(warningsOf(totalsOf('plain', nightly))).toEqual(['warning: plain: no budget for test/x']);
  });
});
