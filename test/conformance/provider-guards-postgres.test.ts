import { PROVIDER_GUARDS } from '../../functions/providers/guard-record.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeProviderGuards } from './provider-guards.ts';

const collections = [PROVIDER_GUARDS];
const options = postgresMissing === undefined ? postgresOptions() : null;

describeProviderGuards(
  'postgresql',
  async () => openPostgresStore({ ...(options ?? postgresOptions()), collections }),
  { rivals: 10, ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }) },
);
