import type { RunsManifest } from './archive-manifest.ts';
import type { RunsCopyOptions } from './export-runs.ts';

export interface RunsRestoreOptions extends RunsCopyOptions {
  readonly expectedContentHash?: string;
  /** Removes the existing runs; without it the restore is refused when runs exist. */
  readonly replace?: boolean;
}

/** The checked content of an archive, reduced to the requested runs. */
export interface CheckedRuns {
  readonly manifest: RunsManifest;
  readonly ids: ReadonlySet<string>;
  readonly active: number;
}

/** Reports each record of a pass over the archive, and ends the pass where the caller asks for it. */
export function stepper(step: string, { counts }: RunsManifest, { onProgress, signal }: RunsCopyOptions) {
  const { blobs: _, missingBlobs: __, ...ofRecords } = counts;
  const recordsTotal = Object.values(ofRecords).reduce((sum, count) => sum + count, 0);
  let records = 0;
  return (): void => {
    signal?.throwIfAborted();
    records += 1;
    onProgress?.({ step, records, recordsTotal });
  };
}
