import type { Stats } from 'node:fs';
import { type FileHandle, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { exitCodes, ToolError } from '../output.ts';
import { exists, writePart } from './files.ts';

/** The new text of a file. */
export interface Change {
  readonly path: string;
  readonly text: string;
}

/** A text that lies beside its place. */
interface Staged {
  readonly given: string;
  /** Where the file lies, behind links. */
  readonly place: string;
  readonly part: string;
  /** `null`: a new file. */
  readonly before: string | null;
}

/**
 * Writes all of the files, in their order, or leaves all as they were. A file that exists keeps mode, owner and links; a new one
 * is for its owner alone. A full disk or a missing right shows before the first file changes.
 */
export async function writeTogether(
  changes: readonly Change[],
  move: (from: string, to: string) => Promise<void> = rename,
): Promise<void> {
  const staged: Staged[] = [];
  const done: Staged[] = [];
  let current = '';
  try {
    for (const change of changes) {
      current = change.path;
      staged.push(await stage(change));
    }
    for (const each of staged) {
      current = each.given;
      await move(each.part, each.place);
      done.push(each);
    }
  } catch (error) {
    for (const { part } of staged) await discard(part);
    const left = await undone(done.toReversed());
    const outcome = left.length === 0 ? 'Nothing was written.' : `Take back by hand: ${left.join(', ')}.`;
    throw new ToolError(`${current} cannot be written: ${reasonOf(error)}. ${outcome}`, exitCodes.failed);
  }
}

async function stage({ path, text }: Change): Promise<Staged> {
  const isThere = exists(path);
  const place = isThere ? await realpath(path) : path;
  const part = `${place}.part`;
  const before = isThere ? await readFile(place, 'utf8') : null;
  const owned = isThere ? await stat(place) : null;
  try {
    await writePart(part, text, (file) => (owned === null ? Promise.resolve() : keepRights(file, owned)));
  } catch (error) {
    await discard(part);
    throw error;
  }
  return { given: path, place, part, before };
}

/**
 * The service may read the file by its group, so a file of another owner or group would stop it.
 * @testonly
 */
export async function keepRights(
  file: Pick<FileHandle, 'stat' | 'chown' | 'chmod'>,
  { mode, uid, gid }: Pick<Stats, 'mode' | 'uid' | 'gid'>,
): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) {
    await file.chown(uid, gid).catch((error: unknown) => {
      const who = `user ${uid} and group ${gid}, to which this user may not give a file`;
      throw new Error(`it belongs to ${who}: repeat as root or as that user`, { cause: error });
    });
  }
  // After the owner: a change of owner may clear bits of the mode.
  await file.chmod(mode & 0o7777);
}

/** The files that could not be brought back. */
async function undone(done: readonly Staged[]): Promise<readonly string[]> {
  const left: string[] = [];
  for (const { given, place, before } of done) {
    try {
      if (before === null) await rm(place, { force: true });
      else {
        const { part } = await stage({ path: place, text: before });
        await rename(part, place);
      }
    } catch {
      left.push(given);
    }
  }
  return left;
}

/** A part that stays is replaced by the next call. */
async function discard(part: string): Promise<void> {
  await rm(part, { force: true }).catch(() => undefined);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
