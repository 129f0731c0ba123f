import { postgresMissing, postgresSchema, postgresUrl } from '../support/postgres.ts';
import { describeHistories } from './histories.ts';

describeHistories(
  'postgresql',
  async () => ({
    database: {
      provider: 'postgresql',
      options: { connectionString: postgresUrl(), schema: postgresSchema() },
    },
    // The server goes with the run.
    drop: () => Promise.resolve(),
  }),
  { clients: 10, operations: 1_000, killAfter: [300, 700], skip: postgresMissing },
);
