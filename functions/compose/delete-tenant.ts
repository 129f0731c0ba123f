import { removeTenant } from '../groups/canonical/copies/remove-tenant.ts';
import { LineTally, snapshotLines } from '../groups/canonical/copies/snapshot/lines.ts';
import { tenantCollections, tenantScope } from '../groups/canonical/records.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { CopyRefusal } from '../runs/copies/copy-refusal.ts';
import { type CopyOptions, tallyRuns } from '../runs/copies/export-runs.ts';
import { markRemoval, removalMark } from '../runs/copies/removal-mark.ts';
import { removeRuns } from '../runs/copies/remove-runs.ts';
import { existingRuns } from '../runs/copies/restore-runs.ts';
import type { Runtime } from '../runs/runtime.ts';

/** What a tenant has: the counts and hashes that archives of the same moment have. */
export interface TenantInventory {
  readonly beganAtUtc: string;
  readonly canonical: { readonly counts: Readonly<Record<string, number>>; readonly contentHash: string };
  readonly runs: { readonly counts: Readonly<Record<string, number>>; readonly contentHash: string };
}

/** The proof of a deletion, for the files of the operator. */
export interface DeletionReceipt extends TenantInventory {
  readonly kind: 'svc.tenant.deletion.v1';
  readonly tenantId: string;
  readonly database: string;
  readonly deletedAtUtc: string;
  /** Records that a scan still finds: 0, since the deletion ends only then. */
  readonly recordsLeft: number;
  /** SHA-256 of the canonical receipt without this member. */
  readonly contentHash: string;
}

export interface DeletionOptions extends CopyOptions {
  readonly cancelRuns: boolean;
}

const PAGE_RECORDS = 300;

export async function inventoryOf(
  runtime: Runtime,
  tenantId: string,
  options: CopyOptions,
): Promise<TenantInventory> {
  const store = await runtime.store();
  const now = runtime.world.clock.now();
  const collections = tenantCollections.map(({ name }) => name);
  const pages = store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
  const tally = new LineTally();
  let records = 0;
  for await (const line of snapshotLines(tenantId, pages, { now })) {
    options.signal?.throwIfAborted();
    tally.add(line);
    records += 1;
    options.onProgress?.({ step: 'counting records', records, recordsTotal: null });
  }
  const runs = await tallyRuns(runtime, { tenantId, productId: null }, options);
  return {
    beganAtUtc: formatUtc(now),
    canonical: { counts: tally.counts, contentHash: tally.contentHash() },
    runs: { counts: runs.counts, contentHash: runs.contentHash() },
  };
}

/**
 * Deletes a tenant whole: its runs with all that belongs to them, then its canonical data. Every step is one bounded
 * transaction; the same call continues a deletion that broke off and ends with the receipt of the first.
 */
export async function deleteTenant(
  runtime: Runtime,
  tenantId: string,
  database: string,
  options: DeletionOptions,
): Promise<DeletionReceipt> {
  const of = { tenantId, productId: null };
  const { active } = await existingRuns(runtime, of);
  if (active > 0 && !options.cancelRuns) {
    const message = `${active} runs of the tenant are active; --cancel-runs cancels them`;
    throw new CopyRefusal('active_runs', message);
  }
  const inventory = await begun(runtime, tenantId, options);
  await removeRuns(runtime, of, { ...options, cancel: options.cancelRuns });
  const store = await runtime.store();
  await removeTenant(store, tenantId, {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    onProgress: (records) => options.onProgress?.({ step: 'removing records', records, recordsTotal: null }),
  });
  await store.sweep(tenantScope(tenantId));
  const left = await inventoryOf(runtime, tenantId, options);
  const recordsLeft = sumOf(left.canonical.counts) + sumOf(left.runs.counts);
  if (recordsLeft > 0) {
    const message =
      'callers wrote for the tenant meanwhile; take it out of the access policies and delete it again';
    throw new CopyRefusal('changed', message);
  }
  const receipt = {
    kind: 'svc.tenant.deletion.v1',
    tenantId,
    database,
    ...inventory,
    deletedAtUtc: formatUtc(runtime.world.clock.now()),
    recordsLeft,
  } as const;
  return { ...receipt, contentHash: sha256(canonicalJson(receipt)) };
}

/** To be called when the receipt is safe: from now on nothing remembers the deletion. */
export function forgetDeletion(runtime: Runtime, tenantId: string): Promise<void> {
  return markRemoval(runtime, tenantId, null);
}

async function begun(runtime: Runtime, tenantId: string, options: CopyOptions): Promise<TenantInventory> {
  const earlier = await removalMark(runtime, tenantId);
  if (earlier !== null) return JSON.parse(earlier) as TenantInventory;
  const inventory = await inventoryOf(runtime, tenantId, options);
  await markRemoval(runtime, tenantId, canonicalJson(inventory));
  return inventory;
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
