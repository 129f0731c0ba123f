import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeGraphJobs } from './graph-jobs.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeGraphJobs('mysql', open, { skip: mysqlMissing && `, left out: ${mysqlMissing}` });
