import type { ExecutionAccess } from '../../../identity/execution-access.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';

export const BATCH_HANDLER = 'svc.records.batch-upsert';
export const IMPORT_HANDLER = 'svc.records.collection-import';

/** The tag that names the collection whose export is imported. */
export const SOURCE_TAG = 'svc.record-import.source-collection';

/** The jobs that write records. */
export interface RecordJobs extends JobFamily {
  /** `null` without policies of the execution runtime. */
  readonly executionAccess: ExecutionAccess | null;
}
