import { collections } from '../../functions/groups/canonical/records.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { postgresMissing, postgresOptions } from '../support/postgres.ts';
import { describeCanonical } from './canonical.ts';

describeCanonical('postgresql', async () => openPostgresStore({ ...postgresOptions(), collections }), {
  rivals: 50,
  ...(postgresMissing === undefined ? {} : { skip: `, left out: ${postgresMissing}` }),
});
