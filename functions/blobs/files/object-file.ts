import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type BlobAttributes, BlobError } from '../port.ts';

/**
 * An object as one file, so that attributes and content appear and disappear together: a line of JSON, then the
 * content.
 */

const FORMAT = 'svc-object.v1';
const LINE_END = 0x0a;
/** More than the attributes that the rules let through can take. */
const headBytesMax = 64 * 1024;

export interface ObjectHead extends BlobAttributes {
  readonly sizeBytes: number;
  /** The offset of the content. */
  readonly contentAt: number;
}

export function headLine({ contentType, sha256, metadata }: BlobAttributes, sizeBytes: number): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, contentType, sha256, sizeBytes, metadata })}\n`);
}

/** Runs `read` on the opened file; `null` for a missing file. */
export async function withObject<R>(
  path: string,
  read: (file: FileHandle, head: ObjectHead) => Promise<R>,
): Promise<R | null> {
  // The store makes no links; a link made by others may lead anywhere.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );
  if (file === null) return null;
  try {
    return await read(file, await readHead(file));
  } finally {
    await file.close();
  }
}

export async function readContent(
  file: FileHandle,
  { contentAt, sizeBytes }: ObjectHead,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeBytes);
  if ((await fill(file, bytes, contentAt)) < sizeBytes) throw damaged();
  return bytes;
}

async function readHead(file: FileHandle): Promise<ObjectHead> {
  const { size } = await file.stat();
  const start = Buffer.alloc(Math.min(size, headBytesMax));
  const end = start.subarray(0, await fill(file, start, 0)).indexOf(LINE_END);
  if (end === -1) throw damaged();
  const head = parseHead(start.toString('utf8', 0, end));
  const contentAt = end + 1;
  if (head?.format !== FORMAT || contentAt + head.sizeBytes !== size) throw damaged();
  const { contentType, sha256, metadata, sizeBytes } = head;
  return { contentType, sha256, metadata, sizeBytes, contentAt };
}

type WrittenHead = Omit<ObjectHead, 'contentAt'> & { readonly format: string };

function parseHead(text: string): WrittenHead | null {
  try {
    return JSON.parse(text) as WrittenHead | null;
  } catch (error) {
    throw damaged(error);
  }
}

/** A read may give less than was asked for. */
async function fill(file: FileHandle, bytes: Uint8Array, from: number): Promise<number> {
  let filled = 0;
  while (filled < bytes.byteLength) {
    const { bytesRead } = await file.read(bytes, filled, bytes.byteLength - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function damaged(cause?: unknown): BlobError {
  return new BlobError('corrupt', 'the file of the object is not one that was written here', { cause });
}
