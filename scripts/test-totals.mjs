// Reads vitest's JSON reports, and the times beside them that scripts/test-totals/reporter.mjs wrote. Prints where the time of
// each lane went, the folders above their budget, each skipped test, each failed test with its message, and as the last line
// `N passed, N failed, N skipped` for all reports together. Fails if a test failed, or a report is missing or empty.
// With `--write-budgets` it writes the times of the lanes to test/budgets.json instead.
// Plain JavaScript: it runs on any Node, also after a failed set-up.
import { existsSync, readFileSync } from 'node:fs';
import { aboveBudget, readBudgets, warnings, writeBudgets } from './test-totals/budgets.mjs';
import { countTests, failureLines, mergeReports, shortened, skipLines } from './test-totals/results.mjs';
import { laneLines, readTimes } from './test-totals/times.mjs';

/** Reads the reports that hold a test; the others are faults of the run. */
function readReports(/** @type {string[]} */ paths) {
  const reports = [];
  const faults = paths.length === 0 ? ['no report was named'] : [];
  for (const path of paths) {
    const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    if (report?.testResults?.some((file) => file.assertionResults.length > 0)) reports.push(report);
    else
      faults.push(
        `${path}: there is no report, or it has no tests; set-up or a check failed before the tests`,
      );
  }
  return { reports, faults };
}

function print(/** @type {string[]} */ lines) {
  for (const line of lines) console.log(line);
}

function main(/** @type {string[]} */ paths) {
  const root = process.cwd();
  const { reports, faults } = readReports(paths);
  const budgets = readBudgets(root);
  const lanes = paths.flatMap((path) => readTimes(path) ?? []);
  for (const path of paths) if (readTimes(path) === undefined) console.log(`${path}: without times`);
  for (const lane of lanes) print([...laneLines(lane), ...warnings(lane, budgets)]);
  if (process.env['TEST_NIGHTLY'] === 'true')
    for (const lane of lanes)
      for (const { name } of aboveBudget(lane, budgets))
        faults.push(`${lane.lane}: ${name} is above its budget`);
  for (const { lane, errors } of lanes)
    for (const error of errors)
      faults.push([`${lane}: an error outside all tests`, ...shortened(error)].join('\n'));
  const files = mergeReports(reports);
  const errorsOf = (/** @type {string} */ name) =>
    lanes.flatMap((lane) => lane.files.filter((file) => file.name === name).flatMap(({ errors }) => errors));
  print(['', ...skipLines(files), ...failureLines(files, errorsOf, root), ...faults]);
  const { passed, failed, skipped } = countTests(files);
  console.log(`${passed} passed, ${failed + faults.length} failed, ${skipped} skipped`);
  if (failed + faults.length > 0) process.exitCode = 1;
}

const [option, ...paths] = process.argv.slice(2);
if (option === '--write-budgets')
  writeBudgets(
    process.cwd(),
    paths.flatMap((path) => readTimes(path) ?? []),
  );
else main(process.argv.slice(2));
