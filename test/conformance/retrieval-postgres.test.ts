import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRetrieval } from './retrieval.ts';
import { retrievalCollections } from './retrieval-stage.ts';

describeRetrieval(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: retrievalCollections }),
  postgresMissing === undefined ? undefined : `, left out: ${postgresMissing}`,
);
