import { invalidMember } from '../../kernel/errors.ts';
import type { RecordStamp } from './record-stamp.ts';

const RECORDS_MAX = 1_000;

export interface BatchItem {
  readonly index: number;
  readonly id: string | null;
  readonly partitionKey: string | null;
  readonly status: 'succeeded' | 'failed';
  readonly etag: string | null;
  readonly revision: number | null;
  readonly error: string | null;
}

/** `error` is the refusal of an item, as a sentence for the caller. */
export type BatchOutcome = Pick<RecordStamp, 'etag' | 'revision'> | { readonly error: string };

export interface BatchResult {
  readonly collection: string;
  readonly requested: number;
  readonly attempted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly stoppedOnError: boolean;
  readonly items: readonly BatchItem[];
}

/** Checks the lists of a batch. Throws `validation_failed` or `limit_exceeded` naming the member. */
export function checkBatch(records: readonly unknown[], preconditions?: readonly unknown[] | null): void {
  if (records.length === 0) throw invalidMember('/records', 'must hold at least one record');
  if (records.length > RECORDS_MAX) {
    throw invalidMember('/records', `must hold at most ${RECORDS_MAX} records`, 'limit_exceeded');
  }
  if (preconditions !== null && preconditions !== undefined && preconditions.length !== records.length) {
    throw invalidMember('/preconditions', 'must have one precondition for each record');
  }
}
