import type { RecordParts } from '../../../collections/parts.ts';
import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';

export const BATCH_HANDLER = 'svc.records.batch-upsert';
export const IMPORT_HANDLER = 'svc.records.collection-import';

export interface RecordJobsParts {
  readonly records: RecordParts;
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result is the artifact of the run. */
  readonly resultBytesMax: number;
}
