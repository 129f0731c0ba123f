interface SpaceProgress {
  readonly step: string;
  readonly records: number;
  /** `null` while an export does not know it yet. */
  readonly recordsTotal: number | null;
}

export interface SpaceCopyOptions {
  /** Called after every record. */
  readonly onProgress?: (progress: SpaceProgress) => void;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
}

/** Reports each record of a copy, and ends the copy when the caller aborts it. */
export function stepper(step: string, recordsTotal: number | null, { onProgress, signal }: SpaceCopyOptions) {
  let records = 0;
  return (): void => {
    signal?.throwIfAborted();
    records += 1;
    onProgress?.({ step, records, recordsTotal });
  };
}
