import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeRecordSearches } from './records-search.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeRecordSearches('mysql', open, {
  rivals: 1,
  runs: 10,
  ...(mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` }),
});
