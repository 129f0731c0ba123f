import { constants } from 'node:fs';
import { mkdir, open, statfs, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BlobError, type BlobFailure } from '../port.ts';

const failures: Readonly<Record<string, BlobFailure>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'too_large',
};

/** Translates an error of the operating system into an error of the port; other errors pass unchanged. */
export function asBlobError(error: unknown): unknown {
  if (error instanceof BlobError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  return new BlobError(failures[code] ?? 'unavailable', `object files: ${String(error)}`, { cause: error });
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The result of `work`, or `otherwise` where a file or folder that it needs does not exist. */
export async function orIfAbsent<R, O>(work: Promise<R>, otherwise: O): Promise<R | O> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return otherwise;
    throw error;
  }
}

/** Makes a folder that outlives a crash, with all above it that is missing. */
export async function makeRoot(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/** Writes a new file that only this user may read, and returns when it is on the disk. A failure leaves no file. */
export async function writeDurably(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600);
  try {
    for (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

/** A name in a folder outlives a crash once the folder itself is on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  const opened = await open(folder, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

export async function isFull(folder: string): Promise<boolean> {
  const { bavail, ffree, files } = await statfs(folder);
  return bavail === 0 || (files > 0 && ffree === 0);
}
