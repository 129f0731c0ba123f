import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeGraphs } from './graphs.ts';
import { recordCollections } from './records-stage.ts';

describeGraphs(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  20,
  postgresMissing,
);
