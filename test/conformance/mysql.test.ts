import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';

describeRecordStore('mysql', open, mysqlMissing === undefined ? {} : { skip: { reason: mysqlMissing } });

async function open(): Promise<OpenedStore> {
  const database = await createMysqlDatabase();
  const store = openMysqlStore(database.options());
  return {
    store,
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
}
