import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeGraphs } from './graphs.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeGraphs('mysql', open, 20, mysqlMissing);
