import type { Head, RecordData, RecordKey } from '../../store/port.ts';
import { recordId } from '../../store/record-id.ts';
import { remainsRecord } from '../maintenance/remove-run.ts';
import { COUNTERS } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import type { RunsOf } from './archive-lines.ts';

/** A restore beside other runs keeps this mark in the store until it is done. */

export interface Restoring {
  readonly contentHash: string;
  /** Record id of the last restored run; empty before the first. */
  readonly after: string;
}

const KIND = 'runs-restore';
const PAGE = 200;
/**
 * The time for which the records of an interrupted restore wait for the call that continues it. A later call writes
 * them again.
 */
const UNFINISHED_MS = 7 * 86_400_000;

export function restoreMarkKey({ tenantId, productId }: RunsOf): RecordKey {
  return {
    collection: COUNTERS.name,
    id: recordId(KIND, JSON.stringify(tenantId), JSON.stringify(productId)),
  };
}

/**
 * The mark names the archive that is being restored, and the last restored run: a run that ended since is not restored
 * again.
 */
export function restoreMarkRecord(of: RunsOf, restoring: Restoring): RecordData {
  return { key: restoreMarkKey(of), head: { ...headOf(of), ...restoring } };
}

/** Remains of a run that is not there yet. */
export function restoreRemains(runId: string, of: RunsOf, now: number): RecordData {
  const record = remainsRecord(runId, null, now);
  return { ...record, head: { ...record.head, ...headOf(of) }, due: now + UNFINISHED_MS };
}

function headOf({ tenantId, productId }: RunsOf): Head {
  return { kind: KIND, tenantId, productId };
}

/** Whether a record belongs to a restore of runs in the selection. */
export function isRestoreOf({ kind, tenantId, productId }: Head, of: RunsOf): boolean {
  return kind === KIND && meet(tenantId, of.tenantId) && meet(productId, of.productId);
}

/** `null` selects all. */
function meet(one: unknown, other: string | null): boolean {
  return one === null || other === null || one === other;
}

/** Whether a record belongs to any restore. */
export function isRestore({ kind }: Head): boolean {
  return kind === KIND;
}

/** The position of an earlier call with this archive; `null` if there was none. */
export async function restoringOf(
  runtime: Runtime,
  of: RunsOf,
  contentHash: string,
): Promise<Restoring | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key: restoreMarkKey(of) }] });
  const head = records[0]?.head;
  return head?.contentHash === contentHash ? { contentHash, after: String(head.after) } : null;
}

/** Writes the mark; without one, removes it: the restore is done. */
export async function markRestoring(
  runtime: Runtime,
  of: RunsOf,
  restoring: Restoring | null,
): Promise<void> {
  const store = await runtime.store();
  const key = restoreMarkKey(of);
  await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: restoring === null }, (found) => {
    if (restoring !== null) return { writes: [{ put: restoreMarkRecord(of, restoring) }], result: null };
    return { writes: found.get(key) === undefined ? [] : [{ remove: key }], result: null };
  });
}

/** To be called when runs are removed: an interrupted restore of them must restart, or it would skip removed runs. */
export async function forgetRestores(runtime: Runtime, of: RunsOf): Promise<void> {
  const store = await runtime.store();
  const keys: RecordKey[] = [];
  for await (const { records } of store.scan(runtime.scope, { collections: [COUNTERS.name], pageSize: PAGE }))
    keys.push(...records.filter(({ head }) => isRestoreOf(head, of)).map(({ key }) => key));
  for (const key of keys)
    await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: true }, (found) => ({
      writes: found.get(key) === undefined ? [] : [{ remove: key }],
      result: null,
    }));
}
