import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, type MysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';

describeRecordStore('mysql', open, mysqlMissing === undefined ? {} : { skip: { reason: mysqlMissing } });

async function open(): Promise<OpenedStore> {
  const database = await createMysqlDatabase();
  const opened = another(database);
  return {
    ...opened,
    close: async () => {
      await opened.close();
      await database.drop();
    },
  };
}

function another(database: MysqlDatabase): OpenedStore {
  const store = openMysqlStore(database.options());
  return { store, another: async () => another(database), close: () => store.close() };
}
