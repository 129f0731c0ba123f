import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '../contracts/generated/limits.ts';
import { placed } from '../functions/archives/snapshot-error.ts';
import type { TenantSnapshot } from '../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { ByteBlocks } from '../functions/kernel/byte-blocks.ts';
import type { Json } from '../functions/kernel/canonical-json.ts';
import { parseStrictJson, type StrictJsonLimits } from '../functions/kernel/strict-json.ts';
import type { RandomSource } from '../functions/kernel/world.ts';
import { exitCodes, ToolError } from './output.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Throws if `path` may not be written. Called before the work starts. */
export async function checkTarget(path: string, force: boolean): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (found === null) return refuseMissingFolder(dirname(path));
  if (!found.isFile()) throw new ToolError(`${path}: is not a plain file, and is left as it is`);
  if (!force) throw alreadyThere(path);
}

async function refuseMissingFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (found === null) throw noFolder(folder);
}

function noFolder(folder: string): ToolError {
  return new ToolError(`${folder}: there is no such folder`, exitCodes.notFound);
}

function alreadyThere(path: string): ToolError {
  return new ToolError(`${path}: is already there; --force replaces it`, exitCodes.conflict);
}

export interface FileOptions {
  readonly force: boolean;
  readonly random: RandomSource;
  readonly signal?: AbortSignal;
}

/**
 * Writes a file that is complete or absent: under a draft name in the same folder, synced, then renamed. Only its
 * owner may read it, because it holds tenant data.
 */
export async function writeWhole(
  path: string,
  parts: Iterable<string>,
  { force, random, signal }: FileOptions,
): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `.${basename(path)}.${Buffer.from(random.bytes(8)).toString('hex')}.part`);
  const file = await openDraft(draft, folder);
  try {
    try {
      for (const part of parts) {
        signal?.throwIfAborted();
        await file.appendFile(part);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    signal?.throwIfAborted();
    await name(draft, path, force);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/** Report the folder: the user does not know the draft's name. */
async function openDraft(draft: string, folder: string): Promise<FileHandle> {
  try {
    return await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw noFolder(folder);
    throw Object.assign(error as NodeJS.ErrnoException, { path: folder });
  }
}

/** A link fails if the name was taken meanwhile; on a file system without links, check once more. */
async function name(draft: string, path: string, force: boolean): Promise<void> {
  if (force) return rename(draft, path);
  try {
    await link(draft, path);
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    if (code === 'EEXIST') throw alreadyThere(path);
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    await checkTarget(path, false);
    return rename(draft, path);
  }
  await unlink(draft);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const LISTS = ['documents', 'revisions', 'fences', 'outbox', 'transactions'] as const;

/**
 * The snapshot as JSON with one record per line, for tools that compare and search. A generator, because the whole
 * text may be too long for one string.
 */
export function* snapshotText(snapshot: TenantSnapshot): Generator<string, void, undefined> {
  yield `{"tenantId":${JSON.stringify(snapshot.tenantId)}`;
  for (const list of LISTS) {
    yield `,\n"${list}":[`;
    for (const [n, item] of snapshot[list].entries())
      yield `${n === 0 ? '\n' : ',\n'}${JSON.stringify(item)}`;
    yield ']';
  }
  const { exportedAtUtc, contentHash } = snapshot;
  yield `,\n"exportedAtUtc":${JSON.stringify(exportedAtUtc)},\n"contentHash":${JSON.stringify(contentHash)}}\n`;
}

/** Writes to a stream that stays open, such as standard output. */
export async function writeStream(
  stream: Writable,
  parts: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(parts, stream, { end: false, signal });
}

const snapshotJson: StrictJsonLimits = {
  depthMax: limits.restoreJsonDepthMax,
  membersMax: limits.restoreJsonMembersMax,
  containersMax: limits.restoreJsonContainersMax,
};

/** Reads a snapshot up to the size limit of a restore over HTTP. */
export async function readSnapshotFile(path: string, input: Readable): Promise<Json> {
  const bytes = await readJsonBytes(path, input, limits.restoreBodyBytesMax);
  const place = { object: path === '-' ? 'standard input' : path };
  return placed(place, () => parseStrictJson(bytes, snapshotJson));
}

/** The bytes of a file, or of `input` if the path is `-`. */
export async function readJsonBytes(path: string, input: Readable, bytesMax: number): Promise<Buffer> {
  if (path === '-') return collect(path, input, bytesMax);
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new ToolError(`${path}: there is no such file`, exitCodes.notFound);
  }
  if ((await file.stat()).isDirectory()) {
    await file.close();
    throw new ToolError(`${path}: is a folder; name the file in it`);
  }
  return collect(path, file.createReadStream(), bytesMax);
}

async function collect(path: string, stream: Readable, bytesMax: number): Promise<Buffer> {
  const blocks = new ByteBlocks();
  for await (const chunk of stream) {
    blocks.add(typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array));
    if (blocks.size > bytesMax)
      throw new ToolError(`${path === '-' ? 'standard input' : path}: is larger than ${bytesMax} bytes`);
  }
  return blocks.whole();
}
