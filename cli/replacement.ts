import { machine } from '../functions/compose/machine.ts';
import {
  type SnapshotCounts,
  SnapshotTally,
  snapshotLines,
} from '../functions/groups/canonical/copies/snapshot/lines.ts';
import { tenantCollections, tenantScope } from '../functions/groups/canonical/records.ts';
import type { RecordStore, Scope } from '../functions/store/port.ts';
import { confirmByName } from './confirm.ts';
import { type OutputForm, printResult, resultText, tryPrint, warn } from './output.ts';
import type { ProgressLine } from './progress.ts';
import type { OpenStore, ReadStore } from './store.ts';

const PAGE_RECORDS = 300;

/** The content that a tenant has, or would have. */
export interface TenantContent {
  readonly counts: SnapshotCounts;
  /** SHA-256 of its lines: the same on every provider. */
  readonly contentHash: string;
}

/** The effect that a restore of `next` would have. */
interface ReplacementPlan {
  readonly tenantId: string;
  readonly database: string;
  readonly current: TenantContent;
  readonly replacement: TenantContent;
  /** If true, a restore changes only state that no copy holds: leases end. */
  readonly sameContent: boolean;
}

export interface PlanParts {
  readonly opened: ReadStore;
  readonly tenantId: string;
  readonly next: TenantContent;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** Reads the tenant like an export and keeps only its counts and hash. */
async function planReplacement(parts: PlanParts): Promise<ReplacementPlan> {
  const { opened, tenantId, next } = parts;
  const current = await contentOf(parts);
  const sameContent = current.contentHash === next.contentHash;
  return { tenantId, database: opened.place, current, replacement: next, sameContent };
}

/** Shows the effect of the restore and asks for the tenant's name; throws if the name differs. */
export async function confirmReplacement(parts: PlanParts): Promise<void> {
  const plan = await planReplacement(parts);
  parts.progress.end();
  warn(resultText('table', { ...plan }));
  const { tenantId, signal } = parts;
  await confirmByName({ tenantId, input: process.stdin, output: process.stderr, signal });
}

/** For a dry run: prints the effect. `from` names the copy. */
export async function printPlan(output: OutputForm, from: object, parts: PlanParts): Promise<void> {
  const plan = await planReplacement(parts);
  parts.progress.end();
  printResult(output, { dryRun: true, ...from, ...plan });
  warn('Nothing was changed: this was a dry run.');
}

/** Prints the result of a restore. A failure to print must not look like a failed restore. */
export async function printReplaced(
  output: OutputForm,
  result: Readonly<Record<string, unknown>> & { readonly tenantId: string },
): Promise<void> {
  if (await tryPrint(resultText(output, result))) return;
  warn(`The tenant ${result.tenantId} was replaced. Only the result could not be printed.`);
}

/** Deletes the replaced content of a tenant as far as it may be deleted now. */
export function sweepBehind({
  opened,
  tenantId,
  ...how
}: Omit<PlanParts, 'next' | 'opened'> & { readonly opened: OpenStore }): Promise<void> {
  return sweepScope(opened.store, tenantScope(tenantId), how);
}

/**
 * Deletes replaced content as far as it may be deleted now. A failure does not affect the restore: the next sweep
 * deletes the rest.
 */
export async function sweepScope(
  store: RecordStore,
  scope: Scope,
  { progress, signal }: Pick<PlanParts, 'progress' | 'signal'>,
): Promise<void> {
  progress.show({ step: 'deleting the replaced content', records: 0, recordsTotal: null });
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    await Promise.race([store.sweep(scope), stopped]);
  } catch {
    warn('The restore is done. Some of the replaced content is not deleted yet: canonical-sweep deletes it.');
  } finally {
    progress.end();
  }
}

async function contentOf({ opened, tenantId, progress, signal }: PlanParts): Promise<TenantContent> {
  const now = machine.clock.now();
  const collections = tenantCollections.map(({ name }) => name);
  const pages = opened.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
  const tally = new SnapshotTally();
  let records = 0;
  const isGone = (event: Parameters<ReadStore['isGone']>[0]) => opened.isGone(event, now);
  for await (const line of snapshotLines(tenantId, pages, { now, isGone })) {
    signal.throwIfAborted();
    tally.add(line);
    if (line.entry !== null)
      progress.show({ step: 'reading the current content', records: ++records, recordsTotal: null });
  }
  return { counts: tally.counts, contentHash: tally.contentHash() };
}
