import { defineConfig } from 'vitest/config';

/** The tests that judge mutants: quick, and without an emulator, a child process or a port. */
export default defineConfig({
  test: {
    include: [
      'functions/canonical/**/*.test.ts',
      'functions/http/path*.test.ts',
      'functions/identity/**/*.test.ts',
      'functions/kernel/**/*.test.ts',
      'test/conformance/memory.test.ts',
      'test/security/{tokens,token-claims,token-keys,token-odd-claims}.test.ts',
    ],
    exclude: ['**/node_modules/**', 'dist/**'],
    // A mutant that never answers is told by this, test by test.
    testTimeout: 3_000,
    env: { METADATA_SERVER_DETECTION: 'none' },
  },
});
