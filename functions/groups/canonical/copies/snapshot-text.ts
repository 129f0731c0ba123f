import { limits } from '../../../../contracts/generated/limits.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { measureJson } from '../../../kernel/strict-json.ts';
import type { TenantSnapshot } from './snapshot/snapshot.ts';

/** Written between two pauses, so that other calls get their turn. */
const BYTES_BETWEEN_PAUSES = 4 * 1024 * 1024;

export interface SnapshotTextOptions {
  /** The largest answer that the platform in front carries; `null` for no bound. */
  readonly bytesMax: number | null;
  /** What to do instead, as a sentence. */
  readonly advice: string;
  readonly pause: () => Promise<void>;
}

/**
 * The snapshot as JSON, written piece by piece. Throws `snapshot_too_large` for one that could not be sent back to a
 * restore: an export that cannot be restored would be found out on the day when it is needed.
 */
export async function snapshotText(
  snapshot: TenantSnapshot,
  { bytesMax, advice, pause }: SnapshotTextOptions,
): Promise<Buffer> {
  // A restore wraps the snapshot in a request.
  const carried = Math.min(bytesMax ?? Number.POSITIVE_INFINITY, limits.restoreBodyBytesMax - 1024);
  const pieces: Buffer[] = [];
  let [bytes, paused, members, containers] = [0, 0, 0, 0];
  for (const text of textsOf(snapshot)) {
    const piece = Buffer.from(text);
    const measured = measureJson(text);
    pieces.push(piece);
    bytes += piece.byteLength;
    members += measured.members;
    containers += measured.containers;
    if (bytes > carried) {
      throw tooLarge(
        `The snapshot is larger than the ${carried} bytes that one message carries here`,
        advice,
      );
    }
    if (members > limits.restoreJsonMembersMax - 10 || containers > limits.restoreJsonContainersMax - 10) {
      throw tooLarge('The snapshot has more members than a restore takes', advice);
    }
    if (bytes - paused < BYTES_BETWEEN_PAUSES) continue;
    paused = bytes;
    await pause();
  }
  return Buffer.concat(pieces, bytes);
}

/** JSON in parts, each of which is far from the whole. */
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
