import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeCanonical } from './canonical.ts';

async function open() {
  const database = await createMysqlDatabase();
  return openMysqlStore({ ...database.options(), poolSize: 6 });
}

describeCanonical('mysql', open, {
  rivals: 50,
  ...(mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` }),
});
