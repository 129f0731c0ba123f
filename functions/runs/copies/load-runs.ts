import type { ChunkSource } from '../../archives/chunk-objects.ts';
import type { Found, RecordData, RecordKey, Write } from '../../store/port.ts';
import { recordId } from '../../store/record-id.ts';
import { incremented } from '../active-runs.ts';
import { ADMISSIONS, COUNTERS, RUNS, remainsKey, runKey } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import { type RunsOf, runIdOf } from './archive-lines.ts';
import { putBytes } from './artifact-bytes.ts';
import { CopyRefusal } from './copy-refusal.ts';
import { readRecords } from './read-archive.ts';
import { type CheckedRuns, type RestoreOptions, stepper } from './restore-options.ts';
import { type RestoredRecord, restoredRecord } from './restored-record.ts';

/** A transaction carries so many records, or so many characters, whichever comes first. */
const BATCH_RECORDS = 40;
const BATCH_CHARACTERS = 1024 * 1024;

/** Says which archive is being restored, and the last run that is there: a run that ended since is not restored again. */
function markOf({ tenantId, productId }: RunsOf): RecordKey {
  return {
    collection: COUNTERS.name,
    id: recordId('runs-restore', JSON.stringify(tenantId), JSON.stringify(productId)),
  };
}

export interface Restoring {
  readonly contentHash: string;
  /** Record id of the last restored run; empty before the first. */
  readonly after: string;
}

/** How far an earlier call came with this archive; `null` if it did not begin. */
export async function restoringOf(
  runtime: Runtime,
  of: RunsOf,
  contentHash: string,
): Promise<Restoring | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key: markOf(of) }] });
  const head = records[0]?.head;
  return head?.contentHash === contentHash ? { contentHash, after: String(head.after) } : null;
}

/** Writes the mark; without one, removes it: the restore is done. */
export async function markRestoring(
  runtime: Runtime,
  of: RunsOf,
  restoring: Restoring | null,
): Promise<void> {
  const store = await runtime.store();
  const key = markOf(of);
  await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: restoring === null }, (found) => {
    if (restoring !== null) return { writes: [{ put: { key, head: { ...restoring } } }], result: null };
    return { writes: found.get(key) === undefined ? [] : [{ remove: key }], result: null };
  });
}

/**
 * Adds the runs of the archive to those of others. First the records that belong to runs, which no reader finds without
 * their run; then the runs, each in one transaction with its counters and the mark.
 */
export async function loadRuns(
  runtime: Runtime,
  source: ChunkSource,
  checked: CheckedRuns,
  of: RunsOf,
  { after, ...options }: RestoreOptions & { readonly after: string },
): Promise<void> {
  const parts = { runtime, of, contentHash: checked.manifest.contentHash };
  const isLeft = (record: RecordData) =>
    checked.ids.has(runIdOf(record)) && runKey(runIdOf(record)).id > after;
  await loadOwned(parts, source, checked, isLeft, options);
  const now = runtime.world.clock.now();
  const step = stepper('restoring runs', checked.manifest, options);
  const batch = new Batch<RestoredRecord>(({ record }) => record);
  for await (const { record } of readRecords(checked.manifest, source)) {
    step();
    if (record.key.collection !== RUNS.name || !isLeft(record)) continue;
    if (batch.add(restoredRecord(runtime, record, now))) await writeRuns(parts, batch.take());
  }
  await writeRuns(parts, batch.take());
}

interface LoadParts {
  readonly runtime: Runtime;
  readonly of: RunsOf;
  readonly contentHash: string;
}

async function loadOwned(
  { runtime }: LoadParts,
  source: ChunkSource,
  { manifest }: CheckedRuns,
  isLeft: (record: RecordData) => boolean,
  options: RestoreOptions,
): Promise<void> {
  const blobs = (await runtime.blobs?.()) ?? null;
  const step = stepper('restoring records of runs', manifest, options);
  const batch = new Batch<RecordData>((record) => record);
  for await (const { record, blob } of readRecords(manifest, source)) {
    step();
    if (record.key.collection === RUNS.name || !isLeft(record)) continue;
    const put = blob === null ? record : await putBytes(blobs, record, blob);
    if (batch.add(put)) await writeOwned(runtime, batch.take());
  }
  await writeOwned(runtime, batch.take());
}

/** Writes records whose runs are not there yet. Remains of removed runs of the same ids would clear them later. */
async function writeOwned(runtime: Runtime, records: readonly RecordData[]): Promise<void> {
  const [first] = records;
  if (first === undefined) return;
  const remains = [...new Set(records.map(runIdOf))].map(remainsKey);
  const keys = [...records.map(({ key }) => key), ...remains].map((key) => ({ key }));
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: first.key, keys }, (found) => {
    for (const record of records) refuseTakenKey(found, record);
    const writes: Write[] = records.map((put) => ({ put }));
    return { writes: [...writes, ...there(found, remains).map((key) => ({ remove: key }))], result: null };
  });
}

function refuseTakenKey(found: Found, { key, head }: RecordData): void {
  const taken = found.get(key);
  if (key.collection !== ADMISSIONS.name || taken === undefined || taken.head.runId === head.runId) return;
  throw new CopyRefusal(
    'key_taken',
    'a new run uses the idempotency key of an archived one; stop the callers and restore with --replace',
  );
}

async function writeRuns(
  { runtime, of, contentHash }: LoadParts,
  runs: readonly RestoredRecord[],
): Promise<void> {
  const last = runs.at(-1)?.record.key.id;
  if (last === undefined) return;
  const mark = markOf(of);
  const counters = new Map(runs.flatMap((each) => each.counters).map((counter) => [counter.key.id, counter]));
  const remains = runs.map(({ record }) => remainsKey(runIdOf(record)));
  const counted = [...counters.values()].map(({ key }) => key);
  const keys = [mark, ...runs.map(({ record }) => record.key), ...remains, ...counted];
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: mark, keys: keys.map((key) => ({ key })) }, (found) => {
    const writes: Write[] = [{ put: { key: mark, head: { contentHash, after: last } } }];
    const added = runs.filter(({ record }) => found.get(record.key) === undefined);
    writes.push(...added.map(({ record }) => ({ put: record })));
    writes.push(...there(found, remains).map((key) => ({ remove: key })));
    for (const counter of counters.values()) {
      const more = added.filter((each) => each.counters.some(({ key }) => key.id === counter.key.id)).length;
      if (more > 0) writes.push(incremented(found, counter, more));
    }
    return { writes, result: null };
  });
}

function there(found: Found, keys: readonly RecordKey[]): readonly RecordKey[] {
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
