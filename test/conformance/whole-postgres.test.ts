import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeWholeScenario } from './whole-scenario.ts';

describeWholeScenario(
  'postgresql',
  async (collections) => openPostgresStore({ ...postgresOptions(), collections }),
  postgresMissing,
);
