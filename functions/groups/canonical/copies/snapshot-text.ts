import { limits } from '../../../../contracts/generated/limits.ts';
import { ByteBlocks } from '../../../kernel/byte-blocks.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { measureJson } from '../../../kernel/strict-json.ts';
import type { Turns } from '../../../kernel/turns.ts';
import type { TenantSnapshot } from './snapshot/snapshot.ts';

export interface SnapshotTextOptions {
  /** The largest answer that the platform in front carries; `null` for no bound. */
  readonly bytesMax: number | null;
  /** A sentence that advises another way. */
  readonly advice: string;
  readonly turns: Turns;
}

const BLOCK_BYTES = 64 * 1024;

/**
 * Writes the snapshot as JSON in blocks: one buffer takes 40 ms for 25 MB and forces a garbage collection. Throws
 * `snapshot_too_large` for a snapshot that no request could restore, so that the operator learns of it at the export.
 */
export async function snapshotText(
  snapshot: TenantSnapshot,
  { bytesMax, advice, turns }: SnapshotTextOptions,
): Promise<ByteBlocks> {
  // A restore request wraps the snapshot, so it is a little larger.
  const carried = Math.min(bytesMax ?? Number.POSITIVE_INFINITY, limits.restoreBodyBytesMax - 1024);
  const blocks = new ByteBlocks(BLOCK_BYTES);
  let [members, containers] = [0, 0];
  for (const text of textsOf(snapshot)) {
    const measured = measureJson(text);
    blocks.addText(text);
    members += measured.members;
    containers += measured.containers;
    if (blocks.size > carried) {
      throw tooLarge(
        `The snapshot is larger than the ${carried} bytes that one message carries here`,
        advice,
      );
    }
    if (members > limits.restoreJsonMembersMax - 10 || containers > limits.restoreJsonContainersMax - 10) {
      throw tooLarge('The snapshot has more members than a restore takes', advice);
    }
    if (turns.due()) await turns.next();
  }
  return blocks;
}

/** Yields the JSON in small parts. */
function* textsOf(snapshot: TenantSnapshot): Generator<string, void, undefined> {
  let open = '{';
  for (const [member, value] of Object.entries(snapshot)) {
    yield `${open}${JSON.stringify(member)}:`;
    open = ',';
    if (Array.isArray(value)) yield* listTexts(value);
    else yield JSON.stringify(value);
  }
  yield '}';
}

function* listTexts(items: readonly unknown[]): Generator<string, void, undefined> {
  let open = '[';
  for (const item of items) {
    yield `${open}${JSON.stringify(item)}`;
    open = ',';
  }
  yield items.length === 0 ? '[]' : ']';
}

function tooLarge(problem: string, advice: string): ServiceError {
  return new ServiceError('snapshot_too_large', `${problem}. ${advice}`);
}
