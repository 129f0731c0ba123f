import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { parseJson } from '../kernel/json-text.ts';
import { type KeyRequest, type RecordData, StoreError } from '../store/port.ts';
import { changeRun } from './change-run.ts';
import { type Held, present } from './held.ts';
import { checkpointKey, readRun, runKey } from './records.ts';
import { answerTo, type WriteName, withAnswer } from './rules/answered.ts';
import { progressed } from './rules/due.ts';
import { activeLease } from './rules/lease.ts';
import { momentIn } from './rules/moment.ts';
import type { RunTraceDraft } from './run.ts';
import type { Runtime } from './runtime.ts';

/** The largest checkpoint of a job on a full disk: room for its position, not for its findings. */
const SMALL_LENGTH = 1_024;

export interface CheckpointWrite {
  readonly key: string;
  readonly content: Json;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Checkpoint extends CheckpointWrite {
  readonly runId: string;
  readonly contentHash: string;
  readonly updatedAt: number;
}

interface NewCheckpoint extends CheckpointWrite {
  readonly isOfJob?: boolean;
  /** The worker's own event, which the same transaction adds to the history. */
  readonly added?: RunTraceDraft;
}

/**
 * Writes a checkpoint. A later write of the key replaces it; it survives retries, waits and restarts. A repeat of a named
 * write changes nothing, so one that the network delays does not replace a later write.
 */
export async function checkpoint(
  runtime: Runtime,
  held: Held,
  { key, content, metadata, isOfJob = false, added }: NewCheckpoint,
  now: number,
  write: WriteName | null = null,
): Promise<Checkpoint> {
  const { runId } = held;
  const contentHash = sha256(canonicalJson(content));
  const recordKey = checkpointKey(runId, key);
  const body = JSON.stringify({ content, metadata });
  // A job that removes much is how a disk gets room again.
  const frees = isOfJob && body.length <= SMALL_LENGTH;
  const recordOf = (at: number): RecordData => ({
    key: recordKey,
    head: { runId, key, contentHash, updatedAt: at },
    body,
    listing: { group: runId, id: key, hidden: false, indexes: {} },
  });
  const request = { runId, now, mayMoveTrace: true, grows: true, frees, keys: [{ key: recordKey }] };
  const { result: updatedAt } = await changeRun(runtime, request, (before, found, at) => {
    const { workerId } = activeLease(before, held, at);
    const answer = answerTo(present(before), write);
    if (answer !== null) return { change: null, result: answer.at };
    const events: RunTraceDraft[] = [{ type: 'checkpoint.written', details: { key, contentHash }, workerId }];
    if (added !== undefined) events.push({ ...added, workerId, byWorker: true });
    // The checkpoint records how far the holder got, so the last wait outcome need not be given again.
    const known = { ...present(before), taken: null };
    // A run that writes the same content at each start and then kills its worker makes no progress.
    const isSame = found.get(recordKey)?.head.contentHash === contentHash;
    const writtenAt = momentIn(known, at);
    const run = withAnswer(isSame ? known : progressed(known), write, { at: writtenAt });
    return { change: { run, events }, writes: [{ put: recordOf(writtenAt) }], result: writtenAt };
  });
  return { runId, key, contentHash, updatedAt, content, metadata };
}

/** Reads a checkpoint under an active lease; `null` if the key has none. A stale lease throws. */
export async function readCheckpoint(
  runtime: Runtime,
  held: Held,
  key: string,
  now: number,
): Promise<Checkpoint | null> {
  const store = await runtime.store();
  const wanted = checkpointKey(held.runId, key);
  const keys: KeyRequest[] = [
    { key: runKey(held.runId), view: 'body' },
    { key: wanted, view: 'body' },
  ];
  const { records } = await store.query(runtime.scope, { by: 'keys', keys });
  const run = records.find((record) => record.key.id === runKey(held.runId).id);
  activeLease(run === undefined ? undefined : readRun(run, held.runId), held, now);
  const found = records.find(
    (record) => record.key.id === wanted.id && record.key.collection === wanted.collection,
  );
  return found === undefined ? null : readCheckpointRecord(found);
}

export function readCheckpointRecord(record: RecordData): Checkpoint {
  const { runId, key, contentHash, updatedAt } = record.head;
  const { content, metadata } = parseJson(record.body ?? '{}') as Pick<Checkpoint, 'content' | 'metadata'>;
  if (sha256(canonicalJson(content)) !== contentHash)
    throw new StoreError('corrupt', 'the content of a checkpoint is not the one that was written');
  return {
    runId: String(runId),
    key: String(key),
    contentHash,
    updatedAt: Number(updatedAt),
    content,
    metadata,
  };
}
