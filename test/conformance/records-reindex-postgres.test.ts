import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeReindex } from './records-reindex-cases.ts';
import { recordCollections } from './records-stage.ts';

const skip = postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` };

describeReindex(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  { many: 150, few: 60, kills: 4, ...skip },
);
