import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeObjects } from './objects.ts';
import { recordCollections } from './records-stage.ts';

describeObjects(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: recordCollections }),
  {
    rivals: 10,
    ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }),
  },
);
