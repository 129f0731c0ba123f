import { defineConfig } from 'vitest/config';
import { testLanes } from './test/lanes.ts';
import { seededProperties } from './test/support/seeded-properties.ts';
import { useTemporaryFolder } from './test/support/temporary-folder.ts';

/** The tests inside `firebase emulators:exec` (scripts/emulators-exec.ts): the conformance suite on Firestore, and the rules. */
export default defineConfig({
  plugins: [seededProperties],
  test: {
    pool: 'forks',
    maxWorkers: '100%',
    reporters: ['default', 'json', './scripts/test-totals/reporter.mjs'],
    setupFiles: ['test/support/worker-cpu.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    include: [
      ...testLanes(import.meta.dirname).ofStores,
      'test/firestore/rules.test.ts',
      'test/firestore/emulators-exec.ts',
    ],
    provide: { stores: ['firestore'] },
    env: { METADATA_SERVER_DETECTION: 'none', ...useTemporaryFolder() },
    globalSetup: ['test/support/firestore-setup.ts'],
  },
});
