import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { CopyRefusal } from '../../archives/copy-refusal.ts';
import { openManifest } from '../../archives/manifest.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import { listPages, recordsOf } from '../../store/pages.ts';
import { isActive, RUN_GROUP, RUNS, readRun } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import { belongsTo, isAll, type RunsOf } from './archive-lines.ts';
import { runsArchives } from './archive-manifest.ts';
import { archivedRun } from './line-reader.ts';
import { loadRuns } from './load-runs.ts';
import { readRecords } from './read-archive.ts';
import { removeRuns } from './remove-runs.ts';
import { markRestoring, type Restoring, restoringOf } from './restore-mark.ts';
import { type CheckedRuns, type RunsRestoreOptions, stepper } from './restore-options.ts';
import { swapRuns } from './swap-runs.ts';

const PAGE = 200;
const WORDS = { tenantId: 'tenant', productId: 'product' } as const;

/** Reads an archive to its end and throws a `SnapshotError` at its first flaw. Needs no store. */
export async function verifyRuns(
  source: ChunkSource,
  of: RunsOf,
  { expectedContentHash, ...options }: Omit<RunsRestoreOptions, 'replace'> = {},
): Promise<CheckedRuns> {
  const manifest = await openManifest(runsArchives, source, expectedContentHash);
  for (const name of ['tenantId', 'productId'] as const)
    if (of[name] !== null && manifest[name] !== null && of[name] !== manifest[name])
      throw new SnapshotError('other_tenant', `holds runs of another ${WORDS[name]}`);
  const ids = new Set<string>();
  let active = 0;
  const step = stepper('verifying', manifest, options);
  for await (const { record } of readRecords(manifest, source)) {
    step();
    if (record.key.collection !== RUNS.name) continue;
    const run = archivedRun(record);
    if (!belongsTo(run, of)) continue;
    ids.add(run.id);
    if (isActive(run)) active += 1;
  }
  return { manifest, ids, active };
}

export interface ExistingRuns {
  readonly runs: number;
  readonly active: number;
}

/** Counts the runs that a restore would replace, or a removal would remove. */
export async function existingRuns(
  runtime: Pick<Runtime, 'store' | 'scope'>,
  of: RunsOf,
): Promise<ExistingRuns> {
  const store = await runtime.store();
  let [runs, active] = [0, 0];
  const pages = listPages(store, runtime.scope, { collection: RUNS, group: RUN_GROUP, limit: PAGE });
  for await (const record of recordsOf(pages)) {
    const run = readRun(record);
    if (!belongsTo(run, of)) continue;
    runs += 1;
    if (isActive(run)) active += 1;
  }
  return { runs, active };
}

/**
 * Restores the runs of an archive. An archive of all runs replaces everything at one moment. The runs of one tenant or
 * product are added beside those of others, each run whole in one transaction; the same call continues a restore that
 * broke off.
 */
export async function restoreRuns(
  runtime: Runtime,
  source: ChunkSource,
  of: RunsOf,
  options: RunsRestoreOptions = {},
): Promise<CheckedRuns> {
  const checked = await verifyRuns(source, of, options);
  if (isAll(of) && isAll(checked.manifest)) {
    await refuseOver(runtime, of, options);
    await swapRuns(runtime, source, checked, options);
    return checked;
  }
  const both = wanted(of, checked);
  const { after } = await begunRestore(runtime, both, checked, options);
  try {
    await loadRuns(runtime, source, checked, both, { ...options, after });
  } catch (error) {
    // The next call with --replace must remove the runs that are in the way, and not go on.
    if (error instanceof CopyRefusal) await markRestoring(runtime, both, null);
    throw error;
  }
  await markRestoring(runtime, both, null);
  return checked;
}

/** The intersection of the requested runs and the runs of the archive. */
function wanted(of: RunsOf, { manifest }: CheckedRuns): RunsOf {
  return {
    tenantId: of.tenantId ?? manifest.tenantId,
    productId: of.productId ?? manifest.productId,
  };
}

async function begunRestore(
  runtime: Runtime,
  of: RunsOf,
  { manifest }: CheckedRuns,
  options: RunsRestoreOptions,
): Promise<Restoring> {
  const earlier = await restoringOf(runtime, of, manifest.contentHash);
  if (earlier !== null) return earlier;
  await refuseOver(runtime, of, options);
  if (options.replace === true) await removeRuns(runtime, of, { ...options, cancel: true });
  const restoring = { contentHash: manifest.contentHash, after: '' };
  await markRestoring(runtime, of, restoring);
  return restoring;
}

async function refuseOver(
  runtime: Runtime,
  of: RunsOf,
  { replace = false }: RunsRestoreOptions,
): Promise<void> {
  if (replace) return;
  const { runs } = await existingRuns(runtime, of);
  if (runs > 0)
    throw new CopyRefusal(
      'not_empty',
      `the database holds ${runs} of these runs already; --replace removes them`,
    );
}
