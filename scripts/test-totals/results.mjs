// The tests of vitest's JSON reports: how many passed, and which did not, with their messages.
import { relative } from 'node:path';

/** A test whose process died before it had a result: vitest counts its file as passed where no other test failed. */
const UNFINISHED = 'pending';
const LINES_MAX = 40;
const LINE_MAX = 400;

/**
 * @typedef {{ fullName: string, status: string, failureMessages?: string[] }} Test
 * @typedef {{ name: string, status: string, message?: string, assertionResults: Test[] }} File
 */

/** A file may be in several reports, and twice in one: each lane and each project tests other stores with it. */
export function mergeReports(/** @type {{ testResults: File[] }[]} */ reports) {
  return reports.flatMap(({ testResults }) => testResults);
}

function isFailed(/** @type {Test} */ { status }) {
  return status === 'failed' || status === UNFINISHED;
}

/** A file that cannot be loaded, or whose hook fails, may have no failed test; it counts as one failure. */
function hasFailedItself(/** @type {File} */ { status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
}

export function countTests(/** @type {File[]} */ files) {
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === 'passed').length;
  const failedTests = tests.filter(isFailed).length;
  return {
    passed,
    failed: failedTests + files.filter(hasFailedItself).length,
    skipped: tests.length - passed - failedTests,
  };
}

/** The first lines of a message, indented, without the calls of libraries. A difference of two large values can have thousands. */
export function shortened(/** @type {string} */ message) {
  const lines = message.split('\n').filter((line) => !/^ +at .*\/node_modules\//.test(line));
  const kept = lines
    .slice(0, LINES_MAX)
    .map((line) =>
      line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)} … (${line.length} characters)` : line,
    );
  if (lines.length > LINES_MAX) kept.push(`… and ${lines.length - LINES_MAX} more lines`);
  return kept.map((line) => `    ${line}`);
}

export function skipLines(/** @type {File[]} */ files) {
  return files
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((test) => test.status !== 'passed' && !isFailed(test))
    .map(({ fullName }) => `skipped: ${fullName}`);
}

/** `errorsOf` gives the errors of a file and its suites: the JSON report has the message of the first one alone, and none of a suite. */
export function failureLines(
  /** @type {File[]} */ files,
  /** @type {(name: string) => string[]} */ errorsOf,
  /** @type {string} */ root,
) {
  return files.flatMap((file) => {
    const name = relative(root, file.name).replaceAll('\\', '/');
    const known = errorsOf(name);
    const errors = known.length > 0 || !file.message ? known : [file.message];
    const failedTests = file.assertionResults.filter(isFailed);
    return [
      ...(hasFailedItself(file) || errors.length > 0
        ? [`failed: ${name}`, ...errors.flatMap(shortened)]
        : []),
      ...failedTests.flatMap(({ status, fullName, failureMessages = [] }) => [
        `${status === UNFINISHED ? 'without a result' : 'failed'}: ${name} > ${fullName}`,
        ...failureMessages.flatMap(shortened),
      ]),
    ];
  });
}
