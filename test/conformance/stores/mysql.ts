import { openMysqlStore } from '../../../functions/store/mysql/store.ts';
import { createMysqlDatabase, mysqlMissing } from '../../support/mysql.ts';
import type { TestedStore } from './tested-store.ts';

export const tested: TestedStore = {
  name: 'mysql',
  title: 'mysql',
  missing: mysqlMissing,
  async create() {
    const options = { ...(await createMysqlDatabase()).options(), poolSize: 6 };
    return () => Promise.resolve(openMysqlStore(options));
  },
};
