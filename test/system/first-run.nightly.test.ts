import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { warmCache } from '../../scripts/first-run/measure.ts';
import { makeStarterArchives, makeStarterWheel } from '../../scripts/first-run/packages.ts';
import { pythonMissing } from '../support/python.ts';
import { root } from './program.ts';

/** The aim of `scripts/first-run.ts`: 60 seconds by the clock. With each change first-run.test.ts bounds the processor time. */

const packages = mkdtempSync(join(tmpdir(), 'svc-first-run-nightly-'));
afterAll(() => rmSync(packages, { recursive: true, force: true }));

const missing = await warmCache().then(
  () => undefined,
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

beforeAll(async () => {
  await makeStarterArchives(packages);
  if (pythonMissing === undefined) await makeStarterWheel(packages);
});

test.for([
  ['typescript', missing],
  ['python', missing ?? pythonMissing],
] as const)(
  'the result of a first run in %s comes within 60 s of an empty folder',
  ([language, reason], { skip }) => {
    if (reason !== undefined && process.env.CI === undefined) skip(reason);
    const words = ['scripts/first-run.ts', '--language', language, '--from', packages];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
    console.log(stdout);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [, seconds] = /^ *([\d.]+) s {2}the result of the first run/m.exec(stdout) ?? [];
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  },
);
