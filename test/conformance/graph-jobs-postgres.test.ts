import { declaredCollections } from '../../functions/compose/collections.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeGraphJobs } from './graph-jobs.ts';

describeGraphJobs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: declaredCollections }),
  { skip: postgresMissing && `, left out: ${postgresMissing}` },
);
