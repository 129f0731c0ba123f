import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeReindex } from './records-reindex-cases.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

const skip = mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` };

describeReindex('mysql', open, { many: 150, few: 60, kills: 4, ...skip });
