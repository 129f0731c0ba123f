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
 * An export is the tenant as of one moment, even under concurrent writes. A restore replaces everything that the tenant has
 * at one moment: a commit is before it and replaced, or after it and kept. A restore that is refused or whose process dies
 * leaves the tenant unchanged.
 */

/** Records a page at the most; a provider ends a page early when its bodies are large. */
const PAGE_RECORDS = 300;

export interface TenantExportOptions {
  /** The moment of the export, in milliseconds since 1970: leases end and events are gone as of it. */
  readonly now: number;
  /** Whether a delivered event is past its retention; without it none is. */
  readonly isGone?: (event: EventState, now: number) => boolean;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
  /** Lets other calls work meanwhile; without it the copy takes each turn for as long as a page of records needs. */
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
  /** The hash that the content must have, beside the one that the snapshot names. */
  readonly expectedContentHash?: string | null | undefined;
  /** Lets other calls work while the snapshot is checked; without it the check is made in one go. */
  readonly turns?: Turns;
  /** Ends the restore between two records, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Replaces the tenant by `snapshot`, which stays as it is; the leases in it are cleared. Throws a `SnapshotError`, with
 * nothing replaced, where it is not the snapshot of this tenant or not the content that its hash, and
 * `expectedContentHash`, name.
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
