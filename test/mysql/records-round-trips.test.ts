import { serviceCollections } from '../../functions/compose/collections.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import { createMysqlDatabase, describeMysql } from '../support/mysql.ts';
import { testRecordRoundTrips } from '../support/record-round-trips.ts';
import { openProxy } from './proxy.ts';

describeMysql('round trips of records to MySQL', () => {
  // The moment with the policy, the page, the end of the moment.
  testRecordRoundTrips(async () => {
    const database = await createMysqlDatabase();
    const proxy = await openProxy(database);
    const options = { ...database.options(), poolSize: 1, collections: serviceCollections };
    const store = openMysqlStore({ ...options, connectionString: proxy.connectionString });
    const { clock, random, timers } = options;
    return {
      store,
      world: { clock, random, timers },
      turns: () => proxy.turns,
      close: async () => {
        await store.close();
        await proxy.close();
        await database.drop();
      },
    };
  }, [3]);
});
