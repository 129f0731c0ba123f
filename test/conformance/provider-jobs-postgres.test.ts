import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeProviderJobs, jobCollections } from './provider-jobs.ts';

describeProviderJobs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: jobCollections }),
  { skip: postgresMissing && `, left out: ${postgresMissing}` },
);
