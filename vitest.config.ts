import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    globalSetup: [
      'test/support/firestore-setup.ts',
      'test/support/postgres-setup.ts',
      'test/support/mysql-setup.ts',
    ],
    exclude: ['**/node_modules/**', 'dist/**'],
    pool: 'forks',
    reporters: ['default', ['json', { outputFile: 'dist/test-results.json' }]],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { METADATA_SERVER_DETECTION: 'none', REDOCLY_TELEMETRY: 'off' },
  },
});
