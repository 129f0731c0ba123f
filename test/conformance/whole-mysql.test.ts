import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeWholeScenario } from './whole-scenario.ts';

describeWholeScenario(
  'mysql',
  async () => openMysqlStore({ ...(await createMysqlDatabase()).options(), poolSize: 6 }),
  mysqlMissing,
);
