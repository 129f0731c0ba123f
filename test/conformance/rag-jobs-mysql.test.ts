import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRagJobs } from './rag-jobs.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeRagJobs('mysql', open, mysqlMissing && `, left out: ${mysqlMissing}`);
