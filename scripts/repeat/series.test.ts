import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { help, OptionFault, readOptions, roundOf, seriesName } from './options.ts';
import {
  failuresOf,
  hasTests,
  progressText,
  type Report,
  readRounds,
  summaryOf,
  totalsText,
} from './series.ts';

const root = '/project';

/** A report of one file with tests of these states; a failed one says why. */
function report(states: Readonly<Record<string, string>>, more: Partial<Report> = {}): Report {
  const assertionResults = Object.entries(states).map(([fullName, state]) => {
    const [status = '', message = ''] = state.split(': ');
    return { fullName, status, failureMessages: message === '' ? [] : [message] };
  });
  const isFailed =
    assertionResults.length === 0 || assertionResults.some(({ status }) => status === 'failed');
  return {
    testResults: [
      {
        name: `${root}/a.test.ts`,
        status: isFailed ? 'failed' : 'passed',
        message: 'not loaded',
        assertionResults,
      },
    ],
    ...more,
  };
}

describe('the options', () => {
  test('name a lane, and paths after another --', () => {
    expect(readOptions(['rest', '--times', '3', '--load', '2', '--', 'a.test.ts', '-t', 'b'])).toEqual({
      lane: 'rest',
      times: 3,
      load: 2,
      out: 'dist/test-repeat',
      dirty: false,
      paths: ['a.test.ts', '-t', 'b'],
    });
    expect(readOptions(['--help'])).toBe('help');
    expect(help).toContain('never retries');
  });

  test.each([
    [[]],
    [['fast']],
    [['plain', 'a.test.ts']],
    [['plain', '--times', '0']],
    [['plain', '--load', '1.5']],
    [['plain', '--retry', '1']],
  ])('refuse %j', (argv) => {
    expect(() => readOptions(argv)).toThrow(OptionFault);
  });

  const options = (...argv: string[]) => {
    const read = readOptions(argv);
    if (read === 'help') throw new Error('help');
    return read;
  };

  test('keep the seeds of the files in both lanes of each change, and never retry', () => {
    const given = { TEST_NIGHTLY: 'true', TEST_SEED: '7' };
    const plain = roundOf(options('plain', '--', 'a.test.ts'), given);
    expect(plain.args).toEqual(['run', '--project', 'plain*', '--retry=0', 'a.test.ts']);
    expect(plain.env).toMatchObject({ TEST_NIGHTLY: 'false', TEST_SEED: '0' });
    const nightly = roundOf(options('nightly'), given);
    expect(nightly.args).toEqual(['run', '--retry=0']);
    expect(nightly.env).toMatchObject(given);
  });

  test('name a series by everything that chooses its rounds', () => {
    const names = [
      seriesName(options('plain'), {}),
      seriesName(options('rest'), {}),
      seriesName(options('plain', '--load', '4'), {}),
      seriesName(options('plain', '--', 'a.test.ts'), {}),
      seriesName(options('plain', '--', 'b.test.ts'), {}),
      seriesName(options('nightly'), {}),
      seriesName(options('nightly'), { TEST_SEED: '7' }),
    ];
    expect(names.slice(0, 3)).toEqual(['plain-0', 'rest-0', 'plain-4']);
    expect(new Set(names).size).toBe(names.length);
    expect(seriesName(options('plain', '--times', '99'), { TEST_SEED: '7' })).toBe('plain-0');
  });
});

describe('a round', () => {
  test('has its failed tests, and those whose process died', () => {
    const found = failuresOf(report({ a: 'passed', b: 'failed: it broke', c: 'pending', d: 'todo' }), root);
    expect(found).toEqual([
      { path: 'a.test.ts', name: 'b', title: 'a.test.ts > b', message: 'it broke' },
      { path: 'a.test.ts', name: 'c', title: 'a.test.ts > c', message: 'no result' },
    ]);
  });

  test('has files that could not be loaded, and failures outside of the tests', () => {
    expect(failuresOf(report({}), root)).toEqual([
      { path: 'a.test.ts', title: 'a.test.ts', message: 'not loaded' },
    ]);
    expect(failuresOf(report({ a: 'passed' }, { fault: 'a rejection' }), root)).toEqual([
      { title: 'outside of the tests', message: 'a rejection' },
    ]);
    // The failures of the tests already hold the output of Vitest.
    expect(failuresOf(report({ a: 'failed: x' }, { fault: 'x' }), root)).toHaveLength(1);
  });

  test('has totals, and none where there was no test', () => {
    expect(totalsText(report({ a: 'passed', b: 'failed: x', c: 'skipped' }), root)).toBe(
      '1 passed, 1 failed, 1 skipped',
    );
    expect(hasTests(report({ a: 'skipped' }))).toBe(true);
    expect(hasTests(report({}))).toBe(false);
  });
});

describe('a series', () => {
  test('is read in the order of its rounds, without those that were cut off', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-series-'));
    for (const name of ['round-10.json', 'round-2.json', 'running-7.json', 'round-3.json.part'])
      writeFileSync(join(folder, name), JSON.stringify(report({ a: 'passed' })));
    expect(readRounds(folder).map(({ number }) => number)).toEqual([2, 10]);
    expect(readRounds(join(folder, 'missing'))).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('names each test that ever failed, its rounds, and each of its messages once', () => {
    const rounds = ['passed', 'failed: late', 'failed: early', 'failed: late'].map((state, at) => ({
      number: at + 1,
      report: report({ a: state, b: 'passed' }),
    }));
    expect(summaryOf(rounds, root)).toEqual({
      failed: 1,
      text: [
        'failed in rounds 2, 3, 4 of 4: a.test.ts > a',
        '    late',
        '    early',
        '4 rounds, 1 tests failed in at least one',
      ].join('\n'),
    });
    expect(summaryOf(rounds.slice(0, 1), root).failed).toBe(0);
  });

  test('says when it will end, once a round has shown how long one takes', () => {
    const now = Date.UTC(2030, 0, 1, 12);
    const first = { number: 3, times: 5, done: 0, left: 3, elapsedMs: 0 };
    expect(progressText(first, now)).toBe('round 3 of 5, 0 s elapsed, expected end unknown');
    expect(progressText({ ...first, number: 4, done: 1, left: 2, elapsedMs: 600_000 }, now)).toBe(
      'round 4 of 5, 600 s elapsed, expected end 2030-01-01 12:20 UTC',
    );
  });
});
