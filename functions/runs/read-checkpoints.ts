import type { Json } from '../kernel/canonical-json.ts';
import { StoreError } from '../store/port.ts';
import { type Checkpoint, readCheckpointRecord } from './checkpoint.ts';
import { CHECKPOINTS, checkpointKey } from './records.ts';
import type { Runtime } from './runtime.ts';

/** The checkpoints of a run without its lease, in the order of the keys; `null` for a key that has none. */
export async function findCheckpoints(
  runtime: Runtime,
  runId: string,
  keys: readonly string[],
): Promise<readonly (Checkpoint | null)[]> {
  if (keys.length === 0) return [];
  const store = await runtime.store();
  const wanted = keys.map((key) => checkpointKey(runId, key));
  const selection = wanted.map((key) => ({ key, view: 'body' as const }));
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: selection });
  const found = new Map(
    records
      .filter(({ key }) => key.collection === CHECKPOINTS.name)
      .map((record) => [record.key.id, record] as const),
  );
  return wanted.map(({ id }) => {
    const record = found.get(id);
    return record === undefined ? null : readCheckpointRecord(record);
  });
}

/** The contents of checkpoints that hold the parts of a result, in the order of the keys. */
export async function readParts(
  runtime: Runtime,
  runId: string,
  keys: readonly string[],
): Promise<readonly Json[]> {
  return (await findCheckpoints(runtime, runId, keys)).map((part) => {
    // The run is removed together with its checkpoints: the next read finds neither.
    if (part === null) throw new StoreError('contention', 'the job was removed while its result was read');
    return part.content;
  });
}
