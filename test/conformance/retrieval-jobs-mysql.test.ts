import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRetrievalJobs } from './retrieval-jobs.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeRetrievalJobs('mysql', open, { skip: mysqlMissing && `, left out: ${mysqlMissing}` });
