import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A series is a folder of Vitest's JSON reports, one file a round. Only a round that ran to its end has one. */

/** The part of a report that a series reads. */
export interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
  /** Written by the runner: what Vitest said of a failure outside of the tests, such as an unhandled rejection. */
  readonly fault?: string;
}

export interface Round {
  readonly number: number;
  readonly report: Report;
}

export interface Failure {
  /** From the root; `undefined` for a failure outside of the tests. */
  readonly path?: string;
  /** The name of the test; `undefined` where its file could not be loaded. */
  readonly name?: string;
  readonly title: string;
  readonly message: string;
}

/** Reads the rounds of a folder, in their order. */
export function readRounds(folder: string): Round[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry: Dirent) => {
      const number = /^round-(\d+)\.json$/.exec(entry.name)?.[1];
      if (number === undefined) return [];
      const report = JSON.parse(readFileSync(join(folder, entry.name), 'utf8')) as Report;
      return [{ number: Number(number), report }];
    })
    .sort((left, right) => left.number - right.number);
}

/** A round without a test has no result: Vitest ended before the tests, or the paths match none. */
export function hasTests(report: Report): boolean {
  return report.testResults.some(({ assertionResults }) => assertionResults.length > 0);
}

/** Each failed test, each file that could not be loaded, and a failure outside of both. */
export function failuresOf({ testResults, fault }: Report, root: string): Failure[] {
  const failures = testResults.flatMap(({ name, status, message = '', assertionResults }) => {
    const path = relative(root, name);
    const failed = assertionResults.flatMap((test) => {
      // Vitest leaves a test `pending` when its process dies.
      if (test.status !== 'failed' && test.status !== 'pending') return [];
      const text = test.failureMessages?.join('\n') || (test.status === 'pending' ? 'no result' : message);
      return [{ path, name: test.fullName, title: `${path} > ${test.fullName}`, message: text }];
    });
    return failed.length > 0 || status !== 'failed' ? failed : [{ path, title: path, message }];
  });
  return fault !== undefined && failures.length === 0
    ? [{ title: 'outside of the tests', message: fault }]
    : failures;
}

/** The totals of one round, in the words that CI ends with. */
export function totalsText(report: Report, root: string): string {
  const states = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.map((test) => test.status),
  );
  const passed = states.filter((state) => state === 'passed').length;
  const skipped = states.filter((state) => !['passed', 'failed', 'pending'].includes(state)).length;
  return `${passed} passed, ${failuresOf(report, root).length} failed, ${skipped} skipped`;
}

/** Each test that ever failed, with its rounds and each message once. */
export function summaryOf(
  rounds: readonly Round[],
  root: string,
): { readonly failed: number; readonly text: string } {
  const found = new Map<string, { rounds: number[]; messages: Set<string> }>();
  for (const { number, report } of rounds) {
    for (const { title, message } of failuresOf(report, root)) {
      const entry = found.get(title) ?? { rounds: [], messages: new Set() };
      found.set(title, entry);
      entry.rounds.push(number);
      entry.messages.add(message);
    }
  }
  const lines = [...found].map(([title, { rounds: failedIn, messages }]) => {
    const texts = [...messages].map((message) => message.replaceAll(/^/gm, '    '));
    const word = failedIn.length === 1 ? 'round' : 'rounds';
    return `failed in ${word} ${failedIn.join(', ')} of ${rounds.length}: ${title}\n${texts.join('\n')}`;
  });
  return {
    failed: found.size,
    text: [...lines, `${rounds.length} rounds, ${found.size} tests failed in at least one`].join('\n'),
  };
}

export interface Progress {
  /** The round that begins. */
  readonly number: number;
  readonly times: number;
  /** Rounds of this run of the command, whose time says how long those that are left will take. */
  readonly done: number;
  readonly left: number;
  readonly elapsedMs: number;
}

export function progressText({ number, times, done, left, elapsedMs }: Progress, nowMs: number): string {
  const end = done === 0 ? 'unknown' : timeOf(nowMs + (elapsedMs / done) * left);
  return `round ${number} of ${times}, ${Math.round(elapsedMs / 1_000)} s elapsed, expected end ${end}`;
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
