import type { Turns } from '../../../kernel/turns.ts';
import type { RecordStore } from '../../../store/port.ts';
import type { EventState } from '../outbox/outbox-event.ts';
import { tenantCollections, tenantScope } from '../records.ts';
import type { RecordPages } from './snapshot/lines.ts';
import { makeSnapshot, readSnapshot, readSnapshotInTurns, type TenantSnapshot } from './snapshot/snapshot.ts';

/**
 * Copies of a whole tenant and their restore, on every provider alike (specification, store contract: `ExportTenantAsync`,
 * `RestoreTenantAsync`, `ExportTenantArchiveAsync`, `RestoreTenantArchiveAsync`).
 *
 * An export is the tenant as of one moment, even under concurrent writes. A restore replaces the whole tenant at one moment: earlier
 * commits are replaced, and later ones kept. A restore that is refused, or whose process dies, leaves the tenant unchanged.
 */

/** The most records of a page. A provider ends a page earlier if its bodies are large. */
const PAGE_RECORDS = 300;

export interface TenantExportOptions {
  /** The time of the export, in milliseconds since 1970. It decides which leases and events have expired. */
  readonly now: number;
  /** Whether a delivered event is past its retention. Default: events do not expire. */
  readonly isGone?: (event: EventState, now: number) => boolean;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
  /** Gives other calls turns during the copy. Without it, each page of records is processed in one turn. */
  readonly turns?: Turns;
}

/** The tenant as one JSON value. Throws a `SnapshotError` `too_large` beyond 64 MiB of lines. */
export async function exportTenant(
  store: RecordStore,
  tenantId: string,
  options: TenantExportOptions,
): Promise<TenantSnapshot> {
  const pages = until(options.signal, scanTenant(store, tenantId));
  return makeSnapshot(tenantId, pages, momentOf(options));
}

export interface TenantRestoreOptions {
  /** The hash that the content must have, beside the hash in the snapshot. */
  readonly expectedContentHash?: string | null | undefined;
  /** Gives other calls turns during the check. Without it, the check is one step. */
  readonly turns?: Turns;
  /** Ends the restore between two records, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Replaces the tenant by the content of `snapshot` without its leases, and does not change `snapshot`. Throws a `SnapshotError`, and
 * replaces nothing, if it belongs to another tenant or its content has another hash than the snapshot or `expectedContentHash` names.
 */
export async function restoreTenant(
  store: RecordStore,
  tenantId: string,
  snapshot: unknown,
  { expectedContentHash = null, turns, signal }: TenantRestoreOptions = {},
): Promise<{ readonly contentHash: string }> {
  const { records, contentHash } =
    turns === undefined
      ? readSnapshot(tenantId, snapshot, expectedContentHash)
      : await readSnapshotInTurns(tenantId, snapshot, expectedContentHash, turns);
  await store.swap(tenantScope(tenantId), until(signal, eachOf(records)), () => undefined);
  return { contentHash };
}

export function scanTenant(store: RecordStore, tenantId: string): RecordPages {
  const collections = tenantCollections.map(({ name }) => name);
  return store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
}

export function momentOf({ now, isGone, turns }: TenantExportOptions) {
  return {
    now,
    ...(isGone && { isGone: (event: EventState) => isGone(event, now) }),
    ...(turns && { turns }),
  };
}

async function* until<T>(
  signal: AbortSignal | undefined,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  for await (const item of items) {
    signal?.throwIfAborted();
    yield item;
  }
}

async function* eachOf<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}
