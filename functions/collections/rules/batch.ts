import { invalidMember } from '../../kernel/errors.ts';
import type { PartitionedKey } from './record-key.ts';
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

/**
 * The progress of a batch of upserts. The batch is not atomic: the items before a failed one stay written. The state is plain
 * JSON, so that a checkpoint can hold it and another attempt continues with `nextItem`.
 * @testonly
 */
export interface BatchProgress {
  readonly requested: number;
  readonly continueOnError: boolean;
  readonly items: readonly BatchItem[];
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

/** @testonly */
export function beginBatch(requested: number, continueOnError: boolean): BatchProgress {
  return { requested, continueOnError, items: [] };
}

/**
 * The index of the next item; `null` if the batch is complete.
 * @testonly
 */
export function nextItem({ requested, continueOnError, items }: BatchProgress): number | null {
  if (items.length >= requested) return null;
  return !continueOnError && items.at(-1)?.status === 'failed' ? null : items.length;
}

/**
 * The progress after the next item. `key` holds the names that the item gives.
 * @testonly
 */
export function afterItem(
  progress: BatchProgress,
  key: Partial<PartitionedKey>,
  outcome: BatchOutcome,
): BatchProgress {
  const index = nextItem(progress);
  if (index === null) throw new TypeError('the batch has no next item');
  const named = { index, id: key.id ?? null, partitionKey: key.partitionKey ?? null };
  const item: BatchItem =
    'error' in outcome
      ? { ...named, status: 'failed', etag: null, revision: null, error: outcome.error }
      : { ...named, status: 'succeeded', etag: outcome.etag, revision: outcome.revision, error: null };
  return { ...progress, items: [...progress.items, item] };
}

/**
 * The answer of the batch: items behind a failure that stopped it are not listed.
 * @testonly
 */
export function batchResult(progress: BatchProgress, collection: string): BatchResult {
  const { requested, items } = progress;
  const succeeded = items.filter(({ status }) => status === 'succeeded').length;
  const attempted = items.length;
  const failed = attempted - succeeded;
  const stoppedOnError = nextItem(progress) === null && attempted < requested;
  return { collection, requested, attempted, succeeded, failed, stoppedOnError, items };
}
