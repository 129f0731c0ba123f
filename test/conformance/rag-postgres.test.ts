import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRag } from './rag.ts';
import { recordCollections } from './records-stage.ts';

describeRag(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  postgresMissing,
);
