/**
 * Measures the first minutes of a new user: from an empty folder to the result of a first run, with packages as files and a
 * warm cache of npm. Fails above the aim.
 *
 *     node scripts/first-run.ts [--language python] [--from <folder of packages>]
 *
 * Without `--from` it makes the packages of this checkout first, which is not counted.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { firstRun, stepLine, warmCache } from './first-run/measure.ts';
import { makeStarterArchives, makeStarterWheel } from './first-run/packages.ts';

const SECONDS_MAX = 60;

const { values } = parseArgs({
  options: { from: { type: 'string' }, language: { type: 'string', default: 'typescript' } },
});
const language = values.language === 'python' ? 'python' : 'typescript';
const folder = mkdtempSync(join(tmpdir(), 'svc-first-run-'));
try {
  const made = join(folder, 'packages');
  if (values.from === undefined) {
    await makeStarterArchives(made);
    if (language === 'python') await makeStarterWheel(made);
  }
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  await warmCache();
  const { status, steps } = await firstRun(values.from ?? made, empty, language);
  for (const step of steps) console.log(stepLine(step));
  const seconds = steps.at(-1)?.seconds ?? Number.POSITIVE_INFINITY;
  if (status !== 'succeeded') fail(`the run is ${status}`);
  if (seconds > SECONDS_MAX) fail(`it took more than ${SECONDS_MAX} s`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function fail(line: string): void {
  console.error(line);
  process.exitCode = 1;
}
