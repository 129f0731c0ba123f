import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { CopyRefusal } from '../../archives/copy-refusal.ts';
import { listPages } from '../../store/pages.ts';
import type { Collection, RecordData } from '../../store/port.ts';
import { type ActiveCounter, newCounter } from '../active-runs.ts';
import { LATE_BYTES_MS, REMAINS_GROUP, remainsRecord } from '../maintenance/remove-run.ts';
import { REMAINS, RUN_GROUP, RUNS } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import { runIdOf } from './archive-lines.ts';
import { putBytes } from './artifact-bytes.ts';
import { readRecords } from './read-archive.ts';
import { type CheckedRuns, type RunsRestoreOptions, stepper } from './restore-options.ts';
import { restoredOwned, restoredRecord } from './restored-record.ts';

const PAGE = 200;

/**
 * Replaces all runs of the store by those of the archive, at one moment or not at all. The counters are derived from
 * the restored runs, and a prune removes the bytes of replaced runs.
 */
export async function swapRuns(
  runtime: Runtime,
  source: ChunkSource,
  checked: CheckedRuns,
  options: RunsRestoreOptions,
): Promise<void> {
  const store = await runtime.store();
  const replaced = await idsThere(runtime, RUNS, RUN_GROUP);
  // The swap removes the remains of removed runs, but not their bytes in the blob store.
  const removed = await idsThere(runtime, REMAINS, REMAINS_GROUP);
  let isRead = false;
  async function* records(): AsyncGenerator<RecordData, void, undefined> {
    yield* restored(runtime, source, checked, options);
    const now = runtime.world.clock.now();
    if (runtime.blobs !== null)
      for (const id of new Set([...replaced, ...removed]))
        if (!checked.ids.has(id)) yield remainsRecord(id, now + LATE_BYTES_MS, now);
    isRead = true;
  }
  await store.swap(runtime.scope, records(), async () => {
    if (!isRead) throw new Error('the archive was not read to its end');
    const there = await idsThere(runtime, RUNS, RUN_GROUP);
    if ([...there].some((id) => !replaced.has(id)))
      throw new CopyRefusal(
        'changed',
        'runs were started while the archive was loaded; stop the service first',
      );
  });
}

async function idsThere(
  { store: open, scope }: Runtime,
  collection: Collection,
  group: string,
): Promise<ReadonlySet<string>> {
  const store = await open();
  const ids = new Set<string>();
  for await (const { records } of listPages(store, scope, {
    collection,
    group,
    limit: PAGE,
  }))
    for (const record of records) ids.add(runIdOf(record));
  return ids;
}

async function* restored(
  runtime: Runtime,
  source: ChunkSource,
  { manifest, ids }: CheckedRuns,
  options: RunsRestoreOptions,
): AsyncGenerator<RecordData, void, undefined> {
  const counts = new Map<string, { readonly counter: ActiveCounter; active: number }>();
  const blobs = (await runtime.blobs?.()) ?? null;
  const now = runtime.world.clock.now();
  const step = stepper('restoring', manifest, options);
  for await (const { record, blob } of readRecords(manifest, source)) {
    step();
    // A copy of a moment at which a removed run was not cleared yet holds records without their run.
    if (!ids.has(runIdOf(record))) continue;
    if (record.key.collection !== RUNS.name) {
      yield blob === null ? restoredOwned(record, now) : await putBytes(blobs, record, blob);
      continue;
    }
    const { record: run, counters } = restoredRecord(runtime, record, now);
    yield run;
    for (const counter of counters) {
      const count = counts.get(counter.key.id) ?? { counter, active: 0 };
      count.active += 1;
      counts.set(counter.key.id, count);
    }
  }
  for (const { counter, active } of counts.values()) yield newCounter(counter, active);
}
