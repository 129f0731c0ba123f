import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import type { RecordData } from '../store/port.ts';
import { checkpointKey } from './records.ts';
import type { FirstCheckpoint } from './rules/start.ts';
import type { RunTraceDraft } from './run.ts';

/** Checkpoints that a start gives to its run, as if a worker had written them before the first attempt. */

/** Belongs to the idempotency key as the hash of the payload does; `null` without checkpoints. */
export function checkpointsHash(checkpoints: readonly FirstCheckpoint[] | undefined): string | null {
  if (checkpoints === undefined || checkpoints.length === 0) return null;
  const sorted = [...checkpoints].sort((a, b) => (a.key < b.key ? -1 : 1));
  return sha256(canonicalJson(sorted.map(({ key, content, metadata }) => ({ key, content, metadata }))));
}

export interface FirstCheckpointWrite {
  readonly record: RecordData;
  readonly event: RunTraceDraft;
}

export function firstCheckpointWrites(
  runId: string,
  checkpoints: readonly FirstCheckpoint[] | undefined,
  now: number,
): readonly FirstCheckpointWrite[] {
  return (checkpoints ?? []).map(({ key, content, metadata }) => {
    const contentHash = sha256(canonicalJson(content));
    const record: RecordData = {
      key: checkpointKey(runId, key),
      head: { runId, key, contentHash, updatedAt: now },
      body: JSON.stringify({ content, metadata }),
      listing: { group: runId, id: key, hidden: false, indexes: {} },
    };
    return { record, event: { type: 'checkpoint.written', details: { key, contentHash } } };
  });
}
