import { IMPORT_PROGRESS } from '../../functions/collections/store-collections.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { patched } from './canonical-outbox-tenant.ts';

/** A planted bug: the process writes records, but not its progress. */
export function withoutLedger(store: RecordStore): RecordStore {
  const isLedger = (write: Write) => 'put' in write && write.put.key.collection === IMPORT_PROGRESS.name;
  return patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        return { ...rest, writes: writes.filter((write) => !isLedger(write)) };
      }),
  });
}
