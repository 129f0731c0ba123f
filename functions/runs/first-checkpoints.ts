import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { RecordData } from '../store/port.ts';
import { checkCheckpoint } from './checks.ts';
import { checkpointKey } from './records.ts';
import type { FirstCheckpoint } from './rules/start.ts';
import type { RunTraceDraft } from './run.ts';

/** Checkpoints that a start gives to its run, as if a worker had written them before the first attempt. */

type Given = readonly Parameters<typeof checkCheckpoint>[0][] | null | undefined;

/** Throws for a key that is there twice, and for more checkpoints than a start may give. */
export function checkFirstCheckpoints(given: Given, pointer: string): readonly FirstCheckpoint[] {
  const checkpoints = (given ?? []).map((each, at) => checkCheckpoint(each, `${pointer}/${at}`));
  if (checkpoints.length > limits.executionFirstCheckpointsMax) {
    const detail = `must be at most ${limits.executionFirstCheckpointsMax} checkpoints`;
    throw invalidMember(pointer, detail, 'limit_exceeded');
  }
  const keys = new Set<string>();
  for (const [at, { key }] of checkpoints.entries()) {
    if (keys.has(key)) throw invalidMember(`${pointer}/${at}/key`, 'must not be there twice');
    keys.add(key);
  }
  return checkpoints;
}

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
