import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRecordSearches } from './records-search.ts';
import { recordCollections } from './records-stage.ts';

describeRecordSearches(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  {
    rivals: 1,
    runs: 10,
    ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }),
  },
);
