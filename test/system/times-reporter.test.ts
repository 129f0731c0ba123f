import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
mkdirSync(join(root, 'dist'), { recursive: true });
// Inside the project, so that the planted tests find vitest.
const folder = mkdtempSync(join(root, 'dist/times-reporter-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const planted: Readonly<Record<string, string>> = {
  'vitest.config.ts': `export default { test: {
    pool: 'forks',
    reporters: ['json', '${root}/scripts/test-totals/reporter.mjs'],
    outputFile: { json: 'reports/plain.json' },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    setupFiles: ['${root}/test/support/worker-cpu.ts'],
  } };`,
  // Works until this thread has taken `ms` of processor time: its wall time is never less.
  'work.mjs': `export const work = (ms) => {
    const from = process.threadCpuUsage();
    const used = () => { const { user, system } = process.threadCpuUsage(from); return user + system; };
    while (used() < ms * 1_000);
  };
  if (process.argv[2] !== undefined) work(Number(process.argv[2]));`,
  'good/hooks.test.ts': `import { afterAll, beforeAll, describe, test } from 'vitest';
    import { work } from '../work.mjs';
    work(150);
    beforeAll(() => work(200));
    describe('a suite', () => {
      afterAll(() => work(100));
      test('quick', () => {});
    });`,
  'good/child.test.ts': `import { spawnSync } from 'node:child_process';
    import { test } from 'vitest';
    test('starts a process', () => { spawnSync(process.execPath, ['work.mjs', '1000']); });`,
  // All four have begun before one of them works, so each lasts as long as all of them.
  'good/concurrent.test.ts': `import { beforeAll, test } from 'vitest';
    import { work } from '../work.mjs';
    const all = Promise.withResolvers();
    let begun = 0;
    beforeAll(() => work(200));
    test.concurrent.each([1, 2, 3, 4])('%i', async () => {
      begun += 1;
      if (begun === 4) all.resolve();
      await all.promise;
      work(50);
    });`,
  'bad/suite.test.ts': `import { beforeAll, describe, test } from 'vitest';
    describe('a suite', () => {
      beforeAll(() => { throw new Error('planted in a hook'); });
      test('never runs', () => {});
    });`,
  'bad/load.test.ts': `import './missing.ts';`,
  'bad/late.test.ts': `import { test } from 'vitest';
    test('passes', () => { void Promise.reject(new Error('planted outside')); });`,
};

beforeAll(() => {
  for (const sub of ['good', 'bad', 'test']) mkdirSync(join(folder, sub));
  for (const [name, text] of Object.entries(planted)) writeFileSync(join(folder, name), text);
});

function run(filter: string, budgets: object, nightly = '') {
  writeFileSync(join(folder, 'test/budgets.json'), JSON.stringify(budgets));
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', filter],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, TEST_NIGHTLY: nightly, TEST_SEED: '5' },
    },
  );
  const times = JSON.parse(readFileSync(join(folder, 'reports/plain-times.json'), 'utf8'));
  const byName = Object.fromEntries(times.files.map((file: { name: string }) => [file.name, file]));
  return { status, output: stdout + stderr, times, byName };
}

test('the reporter writes the time of the import, of the hooks, of concurrent tests and of other processes', () => {
  const { status, times, byName } = run('good/', {});
  expect([status, times.lane, times.seed, times.errors]).toEqual([0, 'plain', '5', []]);
  expect(times.calibrationMs).toBeGreaterThan(0);
  const [hooks, child, concurrent] = ['hooks', 'child', 'concurrent'].map(
    (name) => byName[`good/${name}.test.ts`],
  );
  expect(hooks.import).toBeGreaterThan(140);
  expect(hooks.hooks).toBeGreaterThan(290);
  expect(hooks.startUp).toBeGreaterThan(0);
  expect(hooks.cpu).toBeGreaterThan(440);
  expect(hooks.count).toBe(1);
  expect(child.tests).toBeGreaterThan(950);
  expect(child.cpu).toBeGreaterThan(950);
  expect(concurrent.hooks).toBeGreaterThan(190);
  expect(concurrent.tests).toBeGreaterThan(190);
  expect(times.wallMs).toBeGreaterThan(950);
});

test('a folder above its budget is a warning, and fails the nightly lane', () => {
  // A reference machine that needs a million seconds for the loop makes every use large.
  const budgets = { plain: { calibrationMs: 1_000_000_000, folders: { good: 1 } } };
  const [everyDay, nightly] = ['', 'true'].map((value) => run('good/hooks', budgets, value));
  expect([everyDay?.status, nightly?.status]).toEqual([0, 1]);
  expect(everyDay?.output).toContain('warning: plain: good took');
});

test('the reporter writes the errors that no test has', () => {
  const { status, times, byName } = run('bad/', {});
  expect(status).toBe(1);
  expect(byName['bad/suite.test.ts'].errors).toEqual([expect.stringContaining('planted in a hook')]);
  expect(byName['bad/load.test.ts'].errors).toEqual([expect.stringContaining('missing.ts')]);
  expect(times.errors).toEqual([expect.stringContaining('planted outside')]);
});
