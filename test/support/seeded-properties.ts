import { join } from 'node:path';
import type { Plugin } from 'vitest/config';

/**
 * Puts `fast-check.ts` of this folder in the place of the package in all tests: a property that names no seed then draws from the
 * fixed one, and no test file can forget it.
 */
export const seededProperties: Plugin = {
  name: 'seeded-properties',
  enforce: 'pre',
  resolveId: (id, importer = '') =>
    id === 'fast-check' && !/\/test\/support\/(fast-check|effort)\.ts$/.test(importer)
      ? join(import.meta.dirname, 'fast-check.ts')
      : null,
};
