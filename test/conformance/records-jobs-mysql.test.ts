import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRecordJobs } from './records-jobs.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeRecordJobs('mysql', open, { skip: mysqlMissing && `, left out: ${mysqlMissing}` });
