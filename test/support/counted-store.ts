import type { RecordStore } from '../../functions/store/port.ts';
import { patched } from '../conformance/canonical-outbox-tenant.ts';

/** The work that calls of a store took: calls, and records that were requested, returned or written. */
export interface Work {
  readonly calls: number;
  readonly records: number;
}

/** The store, with its calls since the last reading. */
export function countedStore(inner: RecordStore): { readonly store: RecordStore; take(): Work } {
  let calls = 0;
  let records = 0;
  const store = patched(inner, {
    async transact(scope, request, decide) {
      calls += 1;
      records += request.keys.length;
      return inner.transact(scope, request, (found) => {
        const decision = decide(found);
        records += decision.writes.length;
        return decision;
      });
    },
    query: (async (scope: never, selection: never) => {
      calls += 1;
      const page = await inner.query(scope, selection);
      records += 'records' in page ? (page.records as readonly unknown[]).length : 1;
      return page;
    }) as unknown as RecordStore['query'],
    async due(...given) {
      calls += 1;
      const page = await inner.due(...given);
      records += page.records.length;
      return page;
    },
    async claim(scope, collection, request, decide) {
      calls += 1;
      return inner.claim(scope, collection, request, (record, offer) => {
        records += 1;
        return decide(record, offer);
      });
    },
  });
  return {
    store,
    take() {
      const taken = { calls, records };
      calls = 0;
      records = 0;
      return taken;
    },
  };
}
