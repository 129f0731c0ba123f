import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions, postgresSchema } from '../support/postgres.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';
import { declared } from './store-fixtures.ts';

const schema = postgresSchema();

describeRecordStore(
  'postgresql',
  open,
  postgresMissing === undefined ? {} : { skip: { reason: postgresMissing } },
);

async function open(): Promise<OpenedStore> {
  const store = openPostgresStore({ ...postgresOptions(schema), collections: declared });
  return { store, another: open, close: () => store.close() };
}
