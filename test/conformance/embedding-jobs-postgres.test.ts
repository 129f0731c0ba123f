import { declaredCollections } from '../../functions/compose/collections.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeEmbeddingJobs } from './embedding-jobs.ts';

describeEmbeddingJobs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: declaredCollections }),
  { skip: postgresMissing && `, left out: ${postgresMissing}` },
);
