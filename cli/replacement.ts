import { machine } from '../functions/compose/compose.ts';
import {
  type Counts,
  LineTally,
  snapshotLines,
} from '../functions/groups/canonical/copies/snapshot/lines.ts';
import { tenantCollections, tenantScope } from '../functions/groups/canonical/records.ts';
import { confirmByName } from './confirm.ts';
import { type OutputForm, resultText, said, sayResult, warn } from './output.ts';
import type { ProgressLine } from './progress.ts';
import type { OpenStore, ReadStore } from './store.ts';

const PAGE_RECORDS = 300;

/** What a tenant holds, or would hold. */
export interface TenantContent {
  readonly counts: Counts;
  /** SHA-256 of its lines: the same on every provider. */
  readonly contentHash: string;
}

/** What the restore of `next` would replace, in the words of a result. */
export interface ReplacementPlan {
  readonly tenantId: string;
  readonly database: string;
  readonly current: TenantContent;
  readonly replacement: TenantContent;
  /** Then only what no copy holds would change: leases end. */
  readonly sameContent: boolean;
}

export interface PlanParts {
  readonly opened: ReadStore;
  readonly tenantId: string;
  readonly next: TenantContent;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** Reads the tenant as an export would, and keeps only what it amounts to. */
export async function planReplacement(parts: PlanParts): Promise<ReplacementPlan> {
  const { opened, tenantId, next } = parts;
  const current = await contentOf(parts);
  const sameContent = current.contentHash === next.contentHash;
  return { tenantId, database: opened.place, current, replacement: next, sameContent };
}

/** Tells a person what is about to happen and has the tenant's name typed; throws where it is not. */
export async function confirmReplacement(parts: PlanParts): Promise<void> {
  const plan = await planReplacement(parts);
  parts.progress.end();
  warn(resultText('table', { ...plan }));
  const { tenantId, signal } = parts;
  await confirmByName({ tenantId, input: process.stdin, output: process.stderr, signal });
}

/** A dry run: prints what would happen. `from` names the copy. */
export async function sayPlan(output: OutputForm, from: object, parts: PlanParts): Promise<void> {
  const plan = await planReplacement(parts);
  parts.progress.end();
  sayResult(output, { dryRun: true, ...from, ...plan });
  warn('Nothing was changed: this was a dry run.');
}

/** Prints what a restore did. Where that cannot be printed it must not be taken for one that failed. */
export async function sayReplaced(
  output: OutputForm,
  result: Readonly<Record<string, unknown>> & { readonly tenantId: string },
): Promise<void> {
  if (await said(resultText(output, result))) return;
  warn(`The tenant ${result.tenantId} was replaced. Only the result could not be printed.`);
}

/**
 * Deletes what a restore has replaced, as far as that may go now. The restore is done whatever comes of it: what is left
 * goes with the next sweep.
 */
export async function sweepBehind({
  opened,
  tenantId,
  progress,
  signal,
}: Omit<PlanParts, 'next' | 'opened'> & { readonly opened: OpenStore }): Promise<void> {
  progress.tell({ step: 'deleting what was replaced', records: 0, recordsTotal: null });
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    await Promise.race([opened.store.sweep(tenantScope(tenantId)), stopped]);
  } catch {
    warn('The restore is done. What it replaced is not all deleted yet: canonical-sweep goes on with that.');
  } finally {
    progress.end();
  }
}

async function contentOf({ opened, tenantId, progress, signal }: PlanParts): Promise<TenantContent> {
  const now = machine.clock.now();
  const collections = tenantCollections.map(({ name }) => name);
  const pages = opened.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
  const tally = new LineTally();
  let records = 0;
  const isGone = (event: Parameters<ReadStore['isGone']>[0]) => opened.isGone(event, now);
  for await (const line of snapshotLines(tenantId, pages, { now, isGone })) {
    signal.throwIfAborted();
    tally.add(line);
    if (line.entry !== null)
      progress.tell({ step: 'reading what is there', records: ++records, recordsTotal: null });
  }
  return { counts: tally.counts, contentHash: tally.contentHash() };
}
