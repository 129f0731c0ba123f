import { CopyRefusal } from '../archives/copy-refusal.ts';
import { removeTenant } from '../groups/canonical/copies/remove-tenant.ts';
import { SnapshotTally, snapshotLines } from '../groups/canonical/copies/snapshot/lines.ts';
import { tenantCollections, tenantScope } from '../groups/canonical/records.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { type RunsCopyOptions, tallyRuns } from '../runs/copies/export-runs.ts';
import { markRemoval, removalMark } from '../runs/copies/removal-mark.ts';
import { removeRuns } from '../runs/copies/remove-runs.ts';
import { existingRuns } from '../runs/copies/restore-runs.ts';
import type { Runtime } from '../runs/runtime.ts';

/** The content of a tenant, as the counts and hashes of archives made at the same moment. */
export interface TenantInventory {
  readonly beganAtUtc: string;
  readonly canonical: { readonly counts: Readonly<Record<string, number>>; readonly contentHash: string };
  readonly runs: { readonly counts: Readonly<Record<string, number>>; readonly contentHash: string };
}

interface Ended {
  readonly database: string;
  readonly deletedAtUtc: string;
}

/** The store's note of a deletion until its receipt is safe. It does not name the tenant. */
interface Mark {
  readonly inventory: TenantInventory;
  /** The moment at which no record was left; absent while the deletion is under way. */
  readonly ended?: Ended;
  /** A deletion before this one whose receipt may not have been written. */
  readonly earlier?: TenantInventory & Ended;
}

/** The proof of a deletion, for the files of the operator. */
export interface DeletionReceipt extends TenantInventory, Ended {
  readonly kind: 'svc.tenant.deletion.v1';
  readonly tenantId: string;
  /** An earlier deletion whose receipt may be lost: the tool was killed, and the tenant was used again since. */
  readonly earlier?: TenantInventory & Ended;
  /** Number of records that a scan still finds: always 0, because the deletion ends only when none is left. */
  readonly recordsLeft: number;
  /** SHA-256 of the canonical receipt without this member. */
  readonly contentHash: string;
}

export interface DeletionOptions extends RunsCopyOptions {
  readonly cancelRuns: boolean;
}

const PAGE_RECORDS = 300;

export async function inventoryOf(
  runtime: Runtime,
  tenantId: string,
  options: RunsCopyOptions,
): Promise<TenantInventory> {
  const store = await runtime.store();
  const now = runtime.world.clock.now();
  const collections = tenantCollections.map(({ name }) => name);
  const pages = store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
  const tally = new SnapshotTally();
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
 * transaction. The same call continues an interrupted deletion and returns its receipt. It never continues a complete
 * deletion: a tenant that was used again since is counted anew.
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
  const mark = await begun(runtime, tenantId, options);
  if (mark.ended !== undefined) return receiptOf(tenantId, mark, mark.ended);
  await removeRuns(runtime, of, { ...options, cancel: options.cancelRuns });
  const store = await runtime.store();
  await removeTenant(store, tenantId, {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    onProgress: (records) => options.onProgress?.({ step: 'removing records', records, recordsTotal: null }),
  });
  await store.sweep(tenantScope(tenantId));
  if ((await recordsIn(runtime, tenantId, options)) > 0) {
    const message =
      'callers wrote for the tenant meanwhile; take it out of the access policies and delete it again';
    throw new CopyRefusal('changed', message);
  }
  const ended = { database, deletedAtUtc: formatUtc(runtime.world.clock.now()) };
  await markRemoval(runtime, tenantId, JSON.stringify({ ...mark, ended } satisfies Mark));
  return receiptOf(tenantId, mark, ended);
}

function receiptOf(tenantId: string, { inventory, earlier }: Mark, ended: Ended): DeletionReceipt {
  const receipt = {
    kind: 'svc.tenant.deletion.v1',
    tenantId,
    ...inventory,
    ...ended,
    recordsLeft: 0,
    ...(earlier === undefined ? {} : { earlier }),
  } as const;
  return { ...receipt, contentHash: sha256(canonicalJson(receipt)) };
}

async function recordsIn(runtime: Runtime, tenantId: string, options: RunsCopyOptions): Promise<number> {
  const { canonical, runs } = await inventoryOf(runtime, tenantId, options);
  return sumOf(canonical.counts) + sumOf(runs.counts);
}

/** Removes the note of the deletion. Call it when the receipt is safe. */
export function forgetDeletion(runtime: Runtime, tenantId: string): Promise<void> {
  return markRemoval(runtime, tenantId, null);
}

async function begun(runtime: Runtime, tenantId: string, options: RunsCopyOptions): Promise<Mark> {
  const text = await removalMark(runtime, tenantId);
  const before = text === null ? null : (JSON.parse(text) as Mark);
  if (before !== null && before.ended === undefined) return before;
  const inventory = await inventoryOf(runtime, tenantId, options);
  const isUsed = sumOf(inventory.canonical.counts) + sumOf(inventory.runs.counts) > 0;
  if (before !== null && !isUsed) return before;
  const earlier = before?.ended === undefined ? {} : { earlier: { ...before.inventory, ...before.ended } };
  const mark: Mark = { inventory, ...earlier };
  await markRemoval(runtime, tenantId, JSON.stringify(mark));
  return mark;
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
