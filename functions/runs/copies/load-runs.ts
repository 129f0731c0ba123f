import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { CopyRefusal } from '../../archives/copy-refusal.ts';
import type { LoadedRecords, RecordData, RecordKey, Write } from '../../store/port.ts';
import { incremented } from '../active-runs.ts';
import { ADMISSIONS, RUNS, remainsKey, runKey } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import { type RunsOf, runIdOf } from './archive-lines.ts';
import { putBytes } from './artifact-bytes.ts';
import { readRecords } from './read-archive.ts';
import { restoreMarkKey, restoreMarkRecord, restoreRemains } from './restore-mark.ts';
import { type CheckedRuns, type RunsRestoreOptions, stepper } from './restore-options.ts';
import { type RestoredRecord, restoredOwned, restoredRecord } from './restored-record.ts';

/** The most records and characters of one transaction; the first limit that is reached ends it. */
const BATCH_RECORDS = 40;
const BATCH_CHARACTERS = 1024 * 1024;

/**
 * Adds the runs of the archive to the existing ones. First the records that belong to runs, which no reader finds
 * without their run; then the runs, each in one transaction with its counters and the mark.
 */
export async function loadRuns(
  runtime: Runtime,
  source: ChunkSource,
  checked: CheckedRuns,
  of: RunsOf,
  { after, ...options }: RunsRestoreOptions & { readonly after: string },
): Promise<void> {
  const isLeft = (record: RecordData) =>
    checked.ids.has(runIdOf(record)) && runKey(runIdOf(record)).id > after;
  await loadOwned(runtime, source, checked, { ...options, of, isLeft });
  const { contentHash } = checked.manifest;
  const now = runtime.world.clock.now();
  const step = stepper('restoring runs', checked.manifest, options);
  const batch = new Batch<RestoredRun>(({ record }) => record);
  // Admissions precede the runs in the archive.
  const admissions = new Map<string, RecordData>();
  for await (const { record } of readRecords(checked.manifest, source)) {
    step();
    if (!isLeft(record)) continue;
    const runId = runIdOf(record);
    if (isAdmission(record)) admissions.set(runId, record);
    if (record.key.collection !== RUNS.name) continue;
    const run = { ...restoredRecord(runtime, record, now), admission: admissions.get(runId) ?? null };
    if (batch.add(run)) await writeRuns(runtime, of, contentHash, batch.take());
  }
  await writeRuns(runtime, of, contentHash, batch.take());
}

interface RestoredRun extends RestoredRecord {
  readonly admission: RecordData | null;
}

async function loadOwned(
  runtime: Runtime,
  source: ChunkSource,
  { manifest }: CheckedRuns,
  {
    of,
    isLeft,
    ...options
  }: RunsRestoreOptions & { readonly of: RunsOf; readonly isLeft: (record: RecordData) => boolean },
): Promise<void> {
  const blobs = (await runtime.blobs?.()) ?? null;
  const now = runtime.world.clock.now();
  const step = stepper('restoring records of runs', manifest, options);
  const batch = new Batch<RecordData>((record) => record);
  for await (const { record, blob } of readRecords(manifest, source)) {
    step();
    if (record.key.collection === RUNS.name || !isLeft(record)) continue;
    const put = blob === null ? restoredOwned(record, now) : await putBytes(blobs, record, blob);
    if (batch.add(put)) await writeOwned(runtime, of, batch.take());
  }
  await writeOwned(runtime, of, batch.take());
}

/**
 * Writes the records of runs before the runs themselves. Until a run is written, a record of remains names it, so that
 * a prune or a deletion clears the records of a restore that is never continued. These remains replace those of removed
 * runs with the same ids.
 */
async function writeOwned(runtime: Runtime, of: RunsOf, records: readonly RecordData[]): Promise<void> {
  const [first] = records;
  if (first === undefined) return;
  // The idempotency key is written with its run: without a run, the key would be refused for ever.
  const owned = records.filter((record) => !isAdmission(record));
  const runIds = [...new Set(owned.map(runIdOf))];
  const ofRuns = runIds.flatMap((runId) => [remainsKey(runId), runKey(runId)]);
  const keys = [...records.map(({ key }) => key), ...ofRuns].map((key) => ({ key }));
  const now = runtime.world.clock.now();
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: first.key, keys }, (found) => {
    for (const record of records) refuseTakenKey(found, record);
    if (runIds.some((runId) => found.get(runKey(runId)) !== undefined))
      throw new CopyRefusal('not_empty', 'runs of the same ids are there, of another tenant or product');
    const remains = runIds.map((runId) => restoreRemains(runId, of, now));
    return { writes: [...owned, ...remains].map((put): Write => ({ put })), result: null };
  });
}

function isAdmission({ key }: RecordData): boolean {
  return key.collection === ADMISSIONS.name;
}

function refuseTakenKey(found: LoadedRecords, record: RecordData): void {
  const taken = found.get(record.key);
  if (!isAdmission(record) || taken === undefined || taken.head.runId === record.head.runId) return;
  throw new CopyRefusal(
    'key_taken',
    'a new run uses the idempotency key of an archived one; stop the callers and restore with --replace',
  );
}

async function writeRuns(
  runtime: Runtime,
  of: RunsOf,
  contentHash: string,
  runs: readonly RestoredRun[],
): Promise<void> {
  const last = runs.at(-1)?.record.key.id;
  if (last === undefined) return;
  const mark = restoreMarkKey(of);
  const counters = new Map(runs.flatMap((each) => each.counters).map((counter) => [counter.key.id, counter]));
  const remains = runs.map(({ record }) => remainsKey(runIdOf(record)));
  const counted = [...counters.values()].map(({ key }) => key);
  const admissions = runs.flatMap(({ admission }) => (admission === null ? [] : [admission]));
  const records = [...runs.map(({ record }) => record), ...admissions];
  const keys = [mark, ...records.map(({ key }) => key), ...remains, ...counted];
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: mark, keys: keys.map((key) => ({ key })) }, (found) => {
    const writes: Write[] = [{ put: restoreMarkRecord(of, { contentHash, after: last }) }];
    const added = runs.filter(({ record }) => found.get(record.key) === undefined);
    for (const { record, admission } of added) {
      writes.push({ put: record });
      if (admission === null) continue;
      refuseTakenKey(found, admission);
      writes.push({ put: admission });
    }
    writes.push(...there(found, remains).map((key) => ({ remove: key })));
    for (const counter of counters.values()) {
      const more = added.filter((each) => each.counters.some(({ key }) => key.id === counter.key.id)).length;
      if (more > 0) writes.push(incremented(found, counter, more));
    }
    return { writes, result: null };
  });
}

function there(found: LoadedRecords, keys: readonly RecordKey[]): readonly RecordKey[] {
  return keys.filter((key) => found.get(key) !== undefined);
}

class Batch<T> {
  readonly #recordOf: (item: T) => RecordData;
  #items: T[] = [];
  #characters = 0;

  constructor(recordOf: (item: T) => RecordData) {
    this.#recordOf = recordOf;
  }

  /** Whether the batch is full. */
  add(item: T): boolean {
    this.#items.push(item);
    this.#characters += (this.#recordOf(item).body ?? '').length;
    return this.#items.length >= BATCH_RECORDS || this.#characters >= BATCH_CHARACTERS;
  }

  take(): readonly T[] {
    const items = this.#items;
    [this.#items, this.#characters] = [[], 0];
    return items;
  }
}
