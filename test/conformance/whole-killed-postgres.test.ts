import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeDeaths } from './whole-rounds.ts';

describeDeaths(
  'postgresql',
  () => {
    const options = postgresOptions();
    return Promise.resolve(async (collections) => openPostgresStore({ ...options, collections }));
  },
  postgresMissing,
);
