import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CHUNKS_MAX, MANIFEST_NAME } from '../functions/archives/chunk-list.ts';
import { SnapshotError } from '../functions/archives/snapshot-error.ts';
import type { ChunkSink, ChunkSource } from '../functions/groups/canonical/copies/snapshot/archive.ts';
import { exitCodes, ToolError, warn } from './output.ts';

/**
 * An archive as a folder of files. Files to read may come from anywhere: the reader follows no link, opens plain
 * files only, and accepts no name that leads out of the folder. Written files are readable by their owner only.
 */

const plainName = /^(?:manifest\.json|chunk-[0-9]{6,7}\.bin)$/;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Runs `write` with a folder that is absent or empty. If it fails, everything it wrote is removed. */
export async function writeArchiveDirectory<R>(
  directory: string,
  write: (sink: ChunkSink) => Promise<R>,
): Promise<R> {
  const made = await makeEmpty(directory);
  const written: string[] = [];
  try {
    const result = await write({
      async write(name, content) {
        refuseName(name);
        // A manifest marks an archive as complete: sync the chunks before it is written.
        if (name === MANIFEST_NAME) await syncDirectory(directory);
        await writeNew(join(directory, name), content, () => written.push(name));
      },
    });
    await syncDirectory(directory);
    return result;
  } catch (error) {
    await remove(directory, written, made);
    throw error;
  }
}

/** Whether the folder had to be created. */
async function makeEmpty(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!(await stat(directory)).isDirectory()) throw new ToolError(`${directory}: is not a folder`);
  const entries = await opendir(directory);
  try {
    if ((await entries.read()) !== null) {
      const message = `${directory}: is not empty; name a folder that is new, so that no archive is mixed with another`;
      throw new ToolError(message, exitCodes.conflict);
    }
  } finally {
    await entries.close();
  }
  return false;
}

async function writeNew(path: string, content: Uint8Array, begun: () => void): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  begun();
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const folder = await open(directory, O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Remove the manifest first, so that no manifest ever names missing chunks. */
async function remove(directory: string, written: readonly string[], made: boolean): Promise<void> {
  try {
    for (const name of written.toReversed()) await unlink(join(directory, name));
    if (made) await rmdir(directory);
  } catch {
    warn(
      `${directory}: some of the written files could not be removed. They are no archive: they have no manifest.`,
    );
  }
}

/** Reads an archive from a folder. */
export async function archiveDirectory(directory: string): Promise<ChunkSource> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new ToolError(`${directory}: there is no such folder`, exitCodes.notFound);
  });
  if (!found.isDirectory()) throw new ToolError(`${directory}: is not a folder`);
  return {
    names: () => plainFiles(directory),
    read: (name, bytesMax) => readFile(directory, name, bytesMax),
  };
}

async function plainFiles(directory: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(directory)) {
    refuseName(name);
    if (!(await lstat(join(directory, name))).isFile()) throw notPlain(name);
    names.push(name);
    if (names.length > CHUNKS_MAX + 1) {
      throw new SnapshotError('over_limit', `the folder holds more than ${CHUNKS_MAX} chunks`);
    }
  }
  return names;
}

function refuseName(name: string): void {
  if (plainName.test(name)) return;
  throw new SnapshotError('invalid', `${JSON.stringify(name.slice(0, 200))} is no part of an archive`);
}

function notPlain(name: string): SnapshotError {
  return new SnapshotError('invalid', 'is not a plain file', { object: name });
}

async function readFile(directory: string, name: string, bytesMax: number): Promise<Uint8Array | null> {
  refuseName(name);
  const path = join(directory, name);
  let file: FileHandle;
  try {
    // Check the type before opening: opening a device can have effects, and opening a pipe can block.
    if (!(await lstat(path)).isFile()) throw notPlain(name);
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw code === 'ELOOP' ? notPlain(name) : error;
  }
  try {
    const found = await file.stat();
    if (!found.isFile()) throw notPlain(name);
    if (found.size > bytesMax) throw tooLarge(name, bytesMax);
    return await readBounded(file, name, found.size, bytesMax);
  } finally {
    await file.close();
  }
}

/** Reads to the end of the file, which may have grown since its size was read. */
async function readBounded(
  file: FileHandle,
  name: string,
  size: number,
  bytesMax: number,
): Promise<Uint8Array> {
  let content = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(content, length, content.length - length);
    if (bytesRead === 0) return content.subarray(0, length);
    length += bytesRead;
    if (length > bytesMax) throw tooLarge(name, bytesMax);
    if (length === content.length) {
      const larger = Buffer.allocUnsafe(Math.min(content.length * 2, bytesMax + 1));
      content.copy(larger, 0, 0, length);
      content = larger;
    }
  }
}

function tooLarge(name: string, bytesMax: number): SnapshotError {
  return new SnapshotError('over_limit', `is larger than ${bytesMax} bytes`, { object: name });
}
