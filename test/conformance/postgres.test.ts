import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions, postgresSchema } from '../support/postgres.ts';
import { describeRecordStore } from './store.ts';
import { documents, events } from './store-fixtures.ts';

const schema = postgresSchema();

describeRecordStore(
  'postgresql',
  () => {
    const collections = [documents, events, { name: 'runs', pairedIndexes: false }];
    const store = openPostgresStore({ ...postgresOptions(schema), collections });
    return Promise.resolve({ store, close: () => store.close() });
  },
  postgresMissing === undefined ? {} : { skip: { reason: postgresMissing } },
);
