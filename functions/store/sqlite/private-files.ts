import { chmodSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Only the user of the server reads and writes files of the server. */
export const privateFolderMode = 0o700;
const privateFileMode = 0o600;
const othersMode = 0o077;

/** One level after the other: Node's own recursive way never ends where a file system refuses to make folders (/proc). */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await mkdir(path, privateFolderMode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makePrivateFolder(dirname(path));
    await mkdir(path, privateFolderMode).catch((again: NodeJS.ErrnoException) => {
      // Another process made it in between.
      if (again.code !== 'EEXIST') throw again;
    });
  }
}

const FOLDER_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'the process may not write there',
  EPERM: 'the process may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is not a folder',
  ENOENT: 'no folder can be made there',
  ENOSPC: 'the disk is full',
};

/** Why `makePrivateFolder` failed, for an operator. */
export function folderFault(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return FOLDER_FAULTS[code] ?? code;
}

/**
 * Creates a missing file empty, since SQLite would let all users read a file that it creates; SQLite gives the files
 * beside a database the mode of that database. An existing file is never opened: closing it would release SQLite's
 * locks on it.
 */
export function makePrivateFile(path: string): void {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    closeSync(openSync(path, O_CREAT | O_EXCL | O_WRONLY, privateFileMode));
  } catch {
    // The file exists, or SQLite will report why it cannot be created.
  }
}

/** Removes other users' access to a database and to the files beside it: earlier releases left it to the umask. */
export function restrictDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
      if ((mode & othersMode) !== 0) chmodSync(file, mode & ~othersMode & 0o777);
    } catch {
      // A file of another user keeps its mode: that user decides who reads it.
    }
  }
}

/** Whether other users of the machine may list or enter the folder. File systems without modes show none to others. */
export function isOpenToOthers(folder: string): boolean {
  if (process.platform === 'win32') return false;
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & othersMode) !== 0;
}
