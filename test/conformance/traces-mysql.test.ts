import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeTraces } from './traces.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeTraces('mysql', open, {
  steps: 40,
  ...(mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` }),
});
