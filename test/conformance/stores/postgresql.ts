import { openPostgresStore } from '../../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../../support/postgres.ts';
import type { TestedStore } from './tested-store.ts';

export const tested: TestedStore = {
  name: 'postgresql',
  title: 'postgresql',
  missing: postgresMissing,
  create(collections) {
    const options = { ...postgresOptions(), collections };
    return Promise.resolve(() => Promise.resolve(openPostgresStore(options)));
  },
};
