import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import stryker from './stryker.config.json' with { type: 'json' };
import { seededProperties } from './test/support/seeded-properties.ts';

/** The first test that fails settles a mutant, so the quickest go first: those beside the code, then those that make keys. */
class QuickestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((a, b) => cost(a) - cost(b)));
  }
}

function cost({ moduleId }: TestSpecification): number {
  if (moduleId.includes('/test/')) return 2;
  return /oracle|json-object/.test(moduleId) ? 1 : 0;
}

/** The tests that judge mutants: quick, and without an emulator, a child process or a port. */
export default defineConfig({
  plugins: [seededProperties],
  test: {
    include: [
      'functions/groups/canonical/**/*.test.ts',
      'functions/http/path*.test.ts',
      'functions/identity/**/*.test.ts',
      'functions/kernel/**/*.test.ts',
      'test/conformance/memory.test.ts',
      'test/security/{tokens,token-claims,token-keys}.test.ts',
    ],
    exclude: ['**/node_modules/**', 'dist/**'],
    sequence: { sequencer: QuickestFirst },
    // A mutant that never answers is told by this, test by test.
    testTimeout: 8_000,
    env: { METADATA_SERVER_DETECTION: 'none' },
    coverage: {
      include: stryker.mutate.filter((pattern) => !pattern.startsWith('!')),
      exclude: ['**/*.test.ts'],
      reporter: ['json-summary', 'text'],
      reportsDirectory: 'dist/mutation/coverage',
    },
  },
});
