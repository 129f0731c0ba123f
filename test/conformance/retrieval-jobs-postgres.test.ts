import { declaredCollections } from '../../functions/compose/collections.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRetrievalJobs } from './retrieval-jobs.ts';

describeRetrievalJobs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: declaredCollections }),
  { skip: postgresMissing && `, left out: ${postgresMissing}` },
);
