import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeTwoInstances } from './whole-scenario.ts';

describeTwoInstances(
  'postgresql',
  (collections) => {
    const options = { ...postgresOptions(), collections };
    return Promise.resolve([openPostgresStore(options), openPostgresStore(options)] as const);
  },
  postgresMissing,
);
