import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { hasOwnProcess, type Lane, lanesOf, reportedFiles, testLanes } from './test/lanes.ts';
import { compileCache } from './test/support/compile-cache.ts';
import { plainPath } from './test/support/plain-path.ts';
import { seededProperties } from './test/support/seeded-properties.ts';
import { useTemporaryFolder } from './test/support/temporary-folder.ts';

const lanes = testLanes(import.meta.dirname);
// A run in several steps names the report of an earlier step, so that no file runs twice.
const reported = reportedFiles(import.meta.dirname, process.env['REPORTED_TESTS']);
// That step runs the conformance suite on Firestore, by the same files that test the other databases here.
const testedFirestore = lanes.ofStores.some((path) => reported.has(path));
const env = {
  METADATA_SERVER_DETECTION: 'none',
  REDOCLY_TELEMETRY: 'off',
  ...compileCache,
  ...useTemporaryFolder(),
};
const globalSetup = ['firestore', 'postgres', 'mysql'].map((name) => `test/support/${name}-setup.ts`);

const plain = {
  provide: { stores: ['memory', 'sqlite'] as const },
  // A test that starts Java, a database, Chromium or Python fails here on every machine.
  env: { ...env, PATH: plainPath(process.env['PATH'] ?? '') },
};

/** `test/lanes.ts` decides which lane runs a file. `--project 'plain*'` runs both projects of the plain lane. */
const projects: Readonly<Record<Lane, Readonly<Record<string, TestProjectInlineConfiguration['test']>>>> = {
  plain: {
    plain: {
      ...plain,
      isolate: false,
      include: lanes.plain.filter((path) => !hasOwnProcess(path)),
    },
    'plain-own-process': { ...plain, include: lanes.plain.filter(hasOwnProcess) },
  },
  rest: {
    rest: {
      include: lanes.rest.filter((path) => !reported.has(path) || lanes.ofStores.includes(path)),
      provide: { stores: ['postgresql', 'mysql', ...(testedFirestore ? [] : ['firestore' as const])] },
      env,
      globalSetup,
    },
  },
  nightly: { nightly: { include: [...lanes.nightly], env, globalSetup } },
};

export default defineConfig({
  plugins: [seededProperties],
  test: {
    pool: 'forks',
    // Vitest leaves one core to itself, which halves the speed on a machine with two.
    maxWorkers: '100%',
    reporters: ['default', 'json', './scripts/test-totals/reporter.mjs'],
    setupFiles: ['test/support/worker-cpu.ts', 'test/support/restored-process.ts'],
    outputFile: { json: 'dist/test-reports/latest.json' },
    // These end a test that hangs. A machine under load takes many times what a quiet one does.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    projects: lanesOf(process.env).flatMap((lane) =>
      Object.entries(projects[lane]).map(([name, test]) => ({ extends: true, test: { name, ...test } })),
    ),
  },
});
