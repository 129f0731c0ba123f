import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeProviderRuns } from './provider-runs.ts';

let database: ReturnType<typeof createMysqlDatabase> | null = null;

async function open() {
  database ??= createMysqlDatabase();
  return openMysqlStore({ ...(await database).options(), poolSize: 6 });
}

describeProviderRuns('mysql', open, {
  rivals: 10,
  ...(mysqlMissing === undefined ? {} : { skip: `, left out: ${mysqlMissing}` }),
});
