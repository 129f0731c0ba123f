import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { firstRun, warmCache } from '../../scripts/first-run/measure.ts';
import { makeStarterArchives } from '../../scripts/first-run/packages.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-first-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The application takes its compiler from the registry. A run that must be complete has one. */
const missing = await warmCache().then(
  () => undefined,
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

// The command bounds the seconds, on a quiet machine: a bound here would fail with the load of others.
test('an empty folder and the packed files are enough for a first run', async ({ skip }) => {
  if (missing !== undefined && process.env.CI === undefined) skip(missing);
  const packages = join(folder, 'packages');
  await makeStarterArchives(packages);
  const empty = join(folder, 'empty folder');
  mkdirSync(empty);
  const { status, result, steps } = await firstRun(packages, empty);
  for (const { name, seconds } of steps) console.log(`${seconds.toFixed(1).padStart(6)} s  ${name}`);
  expect({ status, result }).toEqual({ status: 'succeeded', result: { greeting: 'Hello, Ada!' } });
  expect(readdirSync(empty)).toEqual(['app']);
});
