// Prints `N passed, N failed, N skipped` from vitest's JSON report, and fails where there is none or no test ran.
// Plain JavaScript, so that any Node runs it, also when set-up itself has failed.
import { existsSync, readFileSync } from 'node:fs';

const [path] = process.argv.slice(2);
if (path === undefined || !existsSync(path)) {
  console.log('0 passed, 1 failed, 0 skipped');
  console.error('there is no test report: set-up or a check failed before the tests');
  process.exit(1);
}
const report = JSON.parse(readFileSync(path, 'utf8'));
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = report;
// A file that cannot be loaded has no tests of its own to fail; it counts as one failure.
const brokenFiles = report.testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.length === 0,
);
const failed = numFailedTests + brokenFiles.length;
for (const file of report.testResults) {
  for (const test of file.assertionResults) {
    if (test.status === 'failed') console.error(`failed: ${test.fullName}`);
    if (test.status === 'skipped' || test.status === 'pending') console.error(`skipped: ${test.fullName}`);
  }
}
console.log(`${numPassedTests} passed, ${failed} failed, ${numPendingTests + numTodoTests} skipped`);
if (failed > 0 || numFailedTestSuites > 0 || numPassedTests === 0) process.exit(1);
