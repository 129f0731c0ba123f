import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'svc-totals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, statuses: readonly string[], seconds = 1) => ({
  name: resolve(name),
  status: statuses.includes('failed') || statuses.length === 0 ? 'failed' : 'passed',
  startTime: 0,
  endTime: seconds * 1_000,
  assertionResults: statuses.map((status, at) => ({ title: `${at}`, fullName: `${name} ${at}`, status })),
});

function totals(...reports: readonly (readonly ReturnType<typeof file>[] | string)[]) {
  const paths = reports.map((report, at) => {
    const path = join(folder, `${at}.json`);
    if (report === 'missing') return join(folder, 'missing.json');
    writeFileSync(path, JSON.stringify({ testResults: report }));
    return path;
  });
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test-totals.mjs', ...paths], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr, last: stdout.trimEnd().split('\n').at(-1) };
}

describe('the totals of several reports', () => {
  test('are added up, and a file in both counts once', () => {
    const both = file('test/b.test.ts', ['passed', 'skipped']);
    const { status, last } = totals([file('test/a.test.ts', ['passed']), both], [both]);
    expect([status, last]).toEqual([0, '2 passed, 0 failed, 1 skipped']);
  });

  test('have the failures of tests and of files that cannot be loaded', () => {
    const { status, last, stderr } = totals(
      [file('test/a.test.ts', ['passed', 'failed'])],
      [file('test/b.test.ts', ['passed']), file('test/c.test.ts', [])],
    );
    expect([status, last]).toEqual([1, '2 passed, 2 failed, 0 skipped']);
    expect(stderr).toContain('failed: test/a.test.ts 1');
    expect(stderr).toContain('failed: test/c.test.ts');
  });

  test('count a test without a result as failed: its process died', () => {
    const { status, last, stderr } = totals([file('test/a.test.ts', ['passed', 'pending', 'todo'])]);
    expect([status, last]).toEqual([1, '1 passed, 1 failed, 1 skipped']);
    expect(stderr).toContain('without a result: test/a.test.ts 1');
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

  test('come after the slowest files and the time by folder', () => {
    const files = [
      file('functions/groups/canonical/commit/a.test.ts', ['passed'], 2),
      file('functions/groups/canonical/b.test.ts', ['passed'], 3),
      file('test/system/c.test.ts', ['passed'], 4),
    ];
    const { stdout } = totals(files);
    expect(stdout.split('\n').map((line) => line.trim())).toEqual(
      expect.arrayContaining([
        '4.0 s  test/system/c.test.ts',
        '5.0 s  functions/groups/canonical',
        '4.0 s  test/system',
      ]),
    );
  });
});
