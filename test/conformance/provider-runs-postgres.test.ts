import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeProviderRuns, providerCollections } from './provider-runs.ts';

const collections = providerCollections;
const options = postgresMissing === undefined ? postgresOptions() : null;

describeProviderRuns(
  'postgresql',
  async () => openPostgresStore({ ...(options ?? postgresOptions()), collections }),
  { rivals: 10, ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }) },
);
