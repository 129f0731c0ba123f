import type { RecordKey } from '../../store/port.ts';
import { recordId } from '../../store/record-id.ts';
import { COUNTERS } from '../records.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Stores the counts of a tenant at the start of its removal, so that a removal which was interrupted ends with the same
 * receipt. The record names no tenant: its key is a hash.
 */
function keyOf(tenantId: string): RecordKey {
  return { collection: COUNTERS.name, id: recordId('tenant-removal', tenantId) };
}

type MarkRuntime = Pick<Runtime, 'store' | 'scope'>;

/** The text that an earlier call stored; `null` when no removal of the tenant is under way. */
export async function removalMark(
  { store: open, scope }: MarkRuntime,
  tenantId: string,
): Promise<string | null> {
  const store = await open();
  const keys = [{ key: keyOf(tenantId), view: 'body' as const }];
  const { records } = await store.query(scope, { by: 'keys', keys });
  return records[0]?.body ?? null;
}

/** Stores the text, or removes it with `null`: the removal is done. */
export async function markRemoval(
  { store: open, scope }: MarkRuntime,
  tenantId: string,
  text: string | null,
): Promise<void> {
  const store = await open();
  const key = keyOf(tenantId);
  await store.transact(scope, { gate: key, keys: [{ key }], frees: true }, (found) => {
    if (text !== null) return { writes: [{ put: { key, head: {}, body: text } }], result: null };
    return { writes: found.get(key) === undefined ? [] : [{ remove: key }], result: null };
  });
}
