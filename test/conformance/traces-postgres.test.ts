import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { traceCollections } from '../../functions/traces/store-collections.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeTraces } from './traces.ts';

describeTraces(
  'postgresql',
  async () => openPostgresStore({ ...postgresOptions(), collections: traceCollections }),
  { steps: 40, ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }) },
);
