import { executionCollections } from '../../functions/runs/records.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeExecution } from './execution.ts';

describeExecution(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: executionCollections }),
  { rivals: 50, ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }) },
);
