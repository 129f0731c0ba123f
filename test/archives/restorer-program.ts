import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { changed } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import type { RecordData } from '../../functions/store/port.ts';
import { openDatabase } from '../histories/open-database.ts';
import type { Database } from '../histories/process-instance.ts';
import { Objects } from './objects.ts';
import type { Order } from './restorer.ts';

/** A process that restores one archive, reports its progress, and can be killed. */

const database = JSON.parse(process.argv[2] ?? '') as Database;
const store = await openDatabase(database);

const never = new Promise<never>(() => undefined);

async function follow({ tenantId, objects, point, stays }: Order): Promise<void> {
  const at = async (reached: number | 'loaded'): Promise<void> => {
    if (reached !== point) return;
    process.send?.('reached');
    if (stays) await never;
  };
  async function* reported(records: AsyncIterable<RecordData>): AsyncGenerator<RecordData, void, undefined> {
    let number = 0;
    for await (const record of records) {
      await at(number);
      number += 1;
      yield record;
    }
  }
  const watched = changed(store, {
    swap: (scope, records, verify) =>
      store.swap(scope, reported(records), async () => {
        await verify();
        await at('loaded');
      }),
  });
  const archive = objects.map(([name, text]) => [name, Buffer.from(text, 'base64')] as const);
  await restoreTenantArchive(watched, tenantId, new Objects(archive));
  process.send?.('done');
}

process.on('message', (order: Order) => {
  follow(order).catch((error: unknown) => {
    process.send?.({ fault: error instanceof Error ? `${error.stack}` : String(error) });
  });
});
// It may wait to be killed by a test process that has ended.
process.on('disconnect', () => process.exit());
process.send?.('ready');
