import type { Timestamp } from '@google-cloud/firestore';
import { type RecordData, StoreError, type Write } from '../port.ts';
import type { MomentReading } from './read.ts';
import { type AskedKey, nameOf } from './records.ts';

/** A Commit whose answer was lost. */
export interface Doubt<R> {
  readonly stamp: string;
  readonly reading: MomentReading;
  readonly writes: readonly Write[];
  readonly result: R;
}

/**
 * Whether the lost Commit was made after all: a record carries its stamp. It was not made when something that it would have
 * changed is as it was; and it cannot be made later, once another try has changed one of the keys that both are conditioned
 * on. When rivals have since overwritten all evidence, the caller has to find out.
 */
export function wasApplied<R>({ stamp, reading, writes }: Doubt<R>, now: MomentReading): boolean {
  let untouched = false;
  for (const write of writes) {
    const name = nameOf('put' in write ? write.put.key : write.remove);
    const before = reading.stored.get(name)?.updateTime;
    const after = now.stored.get(name);
    if (after?.fields.writtenBy === stamp) return true;
    if ('put' in write || before !== undefined) untouched ||= sameVersion(before, after?.updateTime);
  }
  if (untouched && reading.state.generation === now.state.generation) return false;
  throw new StoreError(
    'unavailable',
    'Firestore did not confirm the write, and its records have changed since',
  );
}

/**
 * The reading that the next try hands to `decide`. A lost Commit may still be applied while its guarded keys are unchanged.
 * Then the try reuses the unguarded keys of that Commit, so that the pure `decide` gives the same writes and result.
 */
export function shownAfter<R>(
  doubts: readonly Doubt<R>[],
  now: MomentReading,
  keys: readonly AskedKey[],
): ReadonlyMap<string, RecordData> {
  const guarded = keys.filter(({ unguarded }) => !unguarded).map(({ key }) => nameOf(key));
  const open = doubts.find(({ reading }) =>
    guarded.every((name) =>
      sameVersion(reading.stored.get(name)?.updateTime, now.stored.get(name)?.updateTime),
    ),
  );
  if (open === undefined) return now.records;
  const shown = new Map(now.records);
  for (const { key, unguarded } of keys) {
    if (!unguarded) continue;
    const before = open.reading.records.get(nameOf(key));
    if (before === undefined) shown.delete(nameOf(key));
    else shown.set(nameOf(key), before);
  }
  return shown;
}

function sameVersion(before: Timestamp | undefined, after: Timestamp | undefined): boolean {
  return before === undefined || after === undefined ? before === after : before.isEqual(after);
}
