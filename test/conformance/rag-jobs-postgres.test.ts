import { declaredCollections } from '../../functions/compose/collections.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRagJobs } from './rag-jobs.ts';

describeRagJobs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: declaredCollections }),
  postgresMissing && `, left out: ${postgresMissing}`,
);
