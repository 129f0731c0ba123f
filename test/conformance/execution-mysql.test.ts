import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeExecution } from './execution.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeExecution('mysql', open, {
  rivals: 50,
  ...(mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` }),
});
