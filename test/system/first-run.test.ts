import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstRun, stepLine, warmCache } from '../../scripts/first-run/measure.ts';
import { makeStarterArchives, makeStarterWheel } from '../../scripts/first-run/packages.ts';
import { pythonMissing } from '../support/python.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-first-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The application takes its compiler from the registry. A run that must be complete has one. */
const missing = await warmCache().then(
  () => undefined,
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

const packages = join(folder, 'packages');
beforeAll(() => makeStarterArchives(packages));

/**
 * Of all processes of a first run: 4 in TypeScript and 8 in Python are usual. Seconds by the clock would fail with the load of others; the
 * nightly run bounds those.
 */
const CPU_SECONDS_MAX = 30;

test.for([
  ['TypeScript', 'typescript', missing],
  ['Python', 'python', pythonMissing],
] as const)(
  'an empty folder and the packed files are enough for a first run in %s',
  async ([, language, reason], { skip }) => {
    if (reason !== undefined && process.env.CI === undefined) skip(reason);
    if (language === 'python') await makeStarterWheel(packages);
    const empty = join(folder, `empty ${language}`);
    mkdirSync(empty);
    const { status, result, steps } = await firstRun(packages, empty, language);
    for (const step of steps) console.log(stepLine(step));
    expect({ status, result }).toEqual({ status: 'succeeded', result: { greeting: 'Hello, Ada!' } });
    expect(readdirSync(empty)).toEqual(['app']);
    // Linux counts them, and CI runs there.
    const cpuSeconds = steps.at(-1)?.cpuSeconds;
    if (cpuSeconds === null && process.env.CI === undefined) return;
    expect(cpuSeconds).toBeGreaterThan(0);
    expect(cpuSeconds).toBeLessThanOrEqual(CPU_SECONDS_MAX);
  },
);
