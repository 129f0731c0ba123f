// Reads vitest's JSON reports. Prints the slowest files, the time by folder, each failed or skipped test, and as the
// last line `N passed, N failed, N skipped` for all reports together. Fails if a report is missing or empty. Plain
// JavaScript: it runs on any Node, also after a failed set-up.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';

const SLOWEST = 20;
/** A test whose process died before it had a result: vitest counts its file as passed where no other test failed. */
const UNFINISHED = 'pending';

/** @typedef {{ title: string, fullName: string, status: string }} Test */
/** @typedef {{ name: string, status: string, startTime: number, endTime: number, assertionResults: Test[] }} File */

/** The same file in two reports counts once: the later report replaces the earlier one. */
export function mergeReports(/** @type {{ testResults: File[] }[]} */ reports) {
  const files = new Map();
  for (const report of reports) for (const file of report.testResults) files.set(file.name, file);
  return /** @type {File[]} */ ([...files.values()]);
}

export function countTests(/** @type {File[]} */ files) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const file of files) {
    // A file that cannot be loaded has no tests; it counts as one failure.
    if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'))
      count.failed += 1;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') count.passed += 1;
      else if (status === 'failed' || status === UNFINISHED) count.failed += 1;
      else count.skipped += 1;
    }
  }
  return count;
}

/** Seconds by folder: `test/<folder>`, `functions/groups/<group>` and `functions/<room>`; elsewhere the first folder. */
export function secondsByFolder(/** @type {File[]} */ files, /** @type {string} */ root) {
  const seconds = new Map();
  for (const file of files) {
    const folder = folderOf(relative(root, file.name));
    seconds.set(folder, (seconds.get(folder) ?? 0) + secondsOf(file));
  }
  return [...seconds].sort(([, left], [, right]) => right - left);
}

function folderOf(/** @type {string} */ path) {
  const parts = path.replaceAll('\\', '/').split('/').slice(0, -1);
  if (parts[0] === 'functions') return parts.slice(0, parts[1] === 'groups' ? 3 : 2).join('/');
  return parts.slice(0, parts[0] === 'test' ? 2 : 1).join('/');
}

function secondsOf(/** @type {File} */ { startTime, endTime }) {
  return Math.max(0, endTime - startTime) / 1_000;
}

function show(/** @type {number} */ seconds, /** @type {string} */ name) {
  console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
}

function wordOf(/** @type {string} */ status) {
  if (status === UNFINISHED) return 'without a result';
  return status === 'failed' ? 'failed' : 'skipped';
}

function main(/** @type {string[]} */ paths) {
  const reports = [];
  const faults = [];
  for (const path of paths) {
    const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    if (report?.testResults?.some((file) => file.assertionResults.length > 0)) reports.push(report);
    else
      faults.push(
        `${path}: there is no report, or it has no tests; set-up or a check failed before the tests`,
      );
  }
  if (paths.length === 0) faults.push('no report was named');
  const files = mergeReports(reports);
  const root = process.cwd();
  console.log(`\nThe ${SLOWEST} slowest test files:`);
  for (const file of files.toSorted((left, right) => secondsOf(right) - secondsOf(left)).slice(0, SLOWEST))
    show(secondsOf(file), relative(root, file.name));
  console.log('\nTime by folder, of all its files one after the other:');
  for (const [folder, seconds] of secondsByFolder(files, root)) show(seconds, folder);
  for (const file of files) {
    for (const { status, fullName } of file.assertionResults)
      if (status !== 'passed') console.error(`${wordOf(status)}: ${fullName}`);
    if (file.status === 'failed') console.error(`failed: ${relative(root, file.name)}`);
  }
  for (const fault of faults) console.error(fault);
  const { passed, failed, skipped } = countTests(files);
  console.log(`${passed} passed, ${failed + faults.length} failed, ${skipped} skipped`);
  if (failed + faults.length > 0) process.exitCode = 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href)
  main(process.argv.slice(2));
