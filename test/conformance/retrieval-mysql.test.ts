import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRetrieval } from './retrieval.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeRetrieval('mysql', open, mysqlMissing === undefined ? undefined : `, left out: ${mysqlMissing}`);
