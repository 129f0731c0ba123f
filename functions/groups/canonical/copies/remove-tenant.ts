import { type RecordKey, type RecordStore, StoreError } from '../../../store/port.ts';
import { tenantCollections, tenantScope } from '../records.ts';

/** Records removed by one transaction. Few, because a receipt carries the revisions of a whole commit. */
const TOGETHER = 20;
const PAGE_RECORDS = 300;

export interface RemovalOptions {
  /** Called after each transaction. */
  readonly onProgress?: (removed: number) => void;
  /** Ends the removal between two transactions, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Removes all records of the tenant in bounded transactions, until a scan finds none. After an interrupted removal the next one
 * removes the rest. Returns the number of removed records.
 */
export async function removeTenant(
  store: RecordStore,
  tenantId: string,
  { onProgress, signal }: RemovalOptions = {},
): Promise<number> {
  let removed = 0;
  for (;;) {
    const keys = await firstKeys(store, tenantId);
    if (keys.length === 0) return removed;
    for (let start = 0; start < keys.length; start += TOGETHER) {
      signal?.throwIfAborted();
      removed += await removeKeys(store, tenantId, keys.slice(start, start + TOGETHER));
      onProgress?.(removed);
    }
  }
}

/** The first records of a scan. The caller removes each page before it reads the next. */
async function firstKeys(store: RecordStore, tenantId: string): Promise<readonly RecordKey[]> {
  const collections = tenantCollections.map(({ name }) => name);
  for await (const { records } of store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS }))
    if (records.length > 0) return records.map(({ key }) => key);
  return [];
}

async function removeKeys(store: RecordStore, tenantId: string, keys: readonly RecordKey[]): Promise<number> {
  const [gate] = keys;
  if (gate === undefined) return 0;
  const request = { gate, keys: keys.map((key) => ({ key })), frees: true };
  try {
    return await store.transact(tenantScope(tenantId), request, (found) => {
      const there = keys.filter((key) => found.get(key) !== undefined);
      return { writes: there.map((key) => ({ remove: key })), result: there.length };
    });
  } catch (error) {
    if (keys.length === 1 || !(error instanceof StoreError) || error.failure !== 'too_large') throw error;
    let removed = 0;
    for (const key of keys) removed += await removeKeys(store, tenantId, [key]);
    return removed;
  }
}
