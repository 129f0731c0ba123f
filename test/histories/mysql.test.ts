import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { describeHistories } from './histories.ts';

describeHistories(
  'mysql',
  async () => {
    const made = await createMysqlDatabase();
    const { connectionString } = made;
    return { database: { provider: 'mysql', options: { connectionString } }, drop: () => made.drop() };
  },
  { clients: 10, operations: 1_000, killAfter: [300, 700], skip: mysqlMissing },
);
