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
