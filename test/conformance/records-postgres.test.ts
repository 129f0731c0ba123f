import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeRecords } from './records.ts';
import { recordCollections } from './records-stage.ts';

describeRecords(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  {
    rivals: 10,
    runs: 10,
    ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }),
  },
);
