import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, lstat, mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { openToRead } from '../../functions/store/sqlite/read-only.ts';
import { exitCodes, ToolError } from '../output.ts';

/** One file of a backup. */
export interface CopiedFile {
  /** The path in the backup, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Copies a database that a server may be writing. All pages come in one step, inside one read transaction: a copy in steps
 * begins again after each commit, and a write-ahead log lets writers go on.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
  try {
    await backup(source, to, { rate: 2_147_483_647 });
  } finally {
    source.close();
  }
  toOneFile(to);
  requireSound(to, from);
}

/** Leaves no log beside the copy. The later check reports a file that is no database. */
function toOneFile(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } catch {
    // The later check reports this fault in a sentence.
  } finally {
    database.close();
  }
}

/** Throws where the file is not a sound database, and names it as `shown`. No byte of it changes. */
export function requireSound(path: string, shown: string = path): void {
  let answer: unknown;
  try {
    const database = openToRead(path, 10_000);
    try {
      answer = Object.values(database.prepare('PRAGMA integrity_check').get() ?? {})[0];
    } finally {
      database.close();
    }
  } catch (error) {
    throw new ToolError(`${shown} is not a sound database`, exitCodes.failed, { cause: error });
  }
  if (answer !== 'ok') {
    const message = `${shown} is a damaged database; svc doctor --deep names its damaged pages`;
    throw new ToolError(message, exitCodes.failed);
  }
}

/** Written and removed by the readiness check; it is no data. */
const readinessProbe = /^objects\/re\/readiness-[0-9a-f]+\.bin$/;

/**
 * Copies the files that `to` lacks. Artifacts never change once they are written, so that a second pass after the copy of the
 * database adds those that were written in between.
 */
export async function copyArtifacts(from: string, to: string): Promise<void> {
  for (const path of await filesUnder(from)) {
    if (readinessProbe.test(path)) continue;
    const target = join(to, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      await copyFile(join(from, path), target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Prune removed the artifact, or an earlier pass has it.
      if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
    }
  }
}

/** The files below a folder by their paths in it, in order; none where it is missing. Unfinished files are left out. */
export async function filesUnder(folder: string, below = ''): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith('.'))
      .map(async (entry) => {
        const path = below === '' ? entry.name : `${below}/${entry.name}`;
        if (entry.isDirectory()) return filesUnder(folder, path);
        return entry.isFile() ? [path] : [];
      }),
  );
  return found.flat().sort();
}

/** Reads a file to its end, and flushes it to disk. */
export async function describeFile(folder: string, path: string): Promise<CopiedFile> {
  const place = join(folder, path);
  const file = await open(place, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  const hash = createHash('sha256');
  await pipeline(createReadStream(place), hash);
  return { path, bytes: (await lstat(place)).size, sha256: hash.digest('hex') };
}

/** Flushes the names in a folder to disk. */
export async function syncFolder(folder: string): Promise<void> {
  const file = await open(folder, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
