import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeTwoInstances } from './whole-scenario.ts';

describeTwoInstances(
  'mysql',
  async (collections) => {
    const options = { ...(await createMysqlDatabase()).options(), poolSize: 6, collections };
    return [openMysqlStore(options), openMysqlStore(options)] as const;
  },
  mysqlMissing,
);
