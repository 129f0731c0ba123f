import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeDeaths } from './whole-rounds.ts';

describeDeaths(
  'mysql',
  async () => {
    const options = { ...(await createMysqlDatabase()).options(), poolSize: 6 };
    return async () => openMysqlStore(options);
  },
  mysqlMissing,
);
