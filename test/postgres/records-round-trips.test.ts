import { describe } from 'vitest';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { postgresMissing, postgresOptions, postgresSchema } from '../support/postgres.ts';
import { testRecordRoundTrips } from '../support/record-round-trips.ts';
import { openThrough } from './fixtures.ts';
import { startProxy } from './proxy.ts';

describe.skipIf(postgresMissing !== undefined)(`round trips of records ${postgresMissing ?? ''}`, () => {
  // The policy and the page; the end of the moment is sent without a wait, and may come later.
  testRecordRoundTrips(async () => {
    const proxy = await startProxy();
    const schema = postgresSchema();
    const { clock, random, timers } = postgresOptions(schema);
    const store = openThrough(proxy, schema, { poolSize: 1, collections: serviceCollections });
    return {
      store,
      world: { clock, random, timers },
      turns: () => proxy.turns,
      close: async () => {
        await store.close();
        await proxy.close();
      },
    };
  }, [2, 3]);
});
