import { defineConfig } from 'vitest/config';
import { useTemporaryFolder } from './test/support/temporary-folder.ts';
import { seededProperties } from './test/support/seeded-properties.ts';

/** The tests inside `firebase emulators:exec` (scripts/emulators-exec.ts): the conformance suite on Firestore, and the rules. */
export default defineConfig({
  plugins: [seededProperties],
  test: {
    pool: 'forks',
    maxWorkers: '100%',
    reporters: ['default', 'json', './scripts/test-totals/reporter.mjs'],
    setupFiles: ['test/support/worker-cpu.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000 } },
    include: [
      'test/conformance/firestore.test.ts',
      'test/conformance/canonical-firestore.test.ts',
      'test/conformance/execution-firestore.test.ts',
      'test/firestore/rules.test.ts',
      'test/firestore/emulators-exec.ts',
    ],
    env: { METADATA_SERVER_DETECTION: 'none', ...useTemporaryFolder() },
    globalSetup: ['test/support/firestore-setup.ts'],
  },
});
