import { sha256InTurns } from '../kernel/turns.ts';
import { type BlobAttributes, BlobError } from './port.ts';

/** More than any artifact may have; the whole object is in memory while it is written or read. */
export const objectBytesMax = 64 * 1024 * 1024;

export const pageSizeMax = 1000;

const metadataEntriesMax = 16;
/** The most bytes of names and values together. Cloud Storage takes 8 KiB. */
const metadataBytesMax = 4096;

/**
 * Folders of ids and hashes, and a name with an ending: `execution-artifacts/<run>/<artifact>.json`. Only the name has an
 * ending, so that no object is another one's folder; upper-case letters would collide on a disk that ignores case.
 */
const keyPattern = /^(?:[a-z0-9_-]{1,80}\/){1,6}[a-z0-9_-]{1,80}\.[a-z0-9]{1,8}$/;
const prefixPattern = /^(?:[a-z0-9_-]{1,80}\/){1,6}$/;
const mediaTypePattern = /^[a-z0-9.+-]{1,80}\/[a-z0-9.+-]{1,80}(?:; charset=[a-z0-9-]{1,20})?$/;
/** Names that start with `svc-` are reserved for the providers. */
const metadataNamePattern = /^(?!svc-)[a-z0-9_-]{1,64}$/;

export function isKey(text: string): boolean {
  return keyPattern.test(text);
}

/** Keys are made by the service: one that breaks the rules is a fault of the code, not of a caller. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new TypeError('not a key of an object');
}

/** Whole folders, so that the prefix of one run never is the beginning of another's. */
export function checkPrefix(prefix: string): void {
  if (!prefixPattern.test(prefix)) throw new TypeError('not a prefix of keys');
}

/** Throws `too_large` for content that no provider accepts, and a TypeError for attributes that no caller can cause. */
export async function checkPut(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<void> {
  checkKey(key);
  if (!mediaTypePattern.test(attributes.contentType))
    throw new TypeError('not a media type that the blob store accepts');
  const entries = Object.entries(attributes.metadata);
  const size = entries.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
  const named = entries.every(([name, value]) => metadataNamePattern.test(name) && value.isWellFormed());
  if (!named || entries.length > metadataEntriesMax || size > metadataBytesMax) {
    throw new TypeError('not the metadata of an object');
  }
  if (bytes.byteLength > objectBytesMax) {
    throw new BlobError('too_large', `an object holds at most ${objectBytesMax} bytes`);
  }
  if ((await sha256InTurns(bytes)) !== attributes.sha256)
    throw new TypeError('the hash is not that of the bytes');
}

export function checkPageSize(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > pageSizeMax) {
    throw new RangeError(`a page holds 1 to ${pageSizeMax} objects`);
  }
}

export function checkReadable(sizeBytes: number, bytesMax: number): void {
  if (sizeBytes > bytesMax) {
    throw new BlobError('too_large', `the object has ${sizeBytes} bytes, more than ${bytesMax}`);
  }
}

export async function checkContent(bytes: Uint8Array, expected: string): Promise<void> {
  if ((await sha256InTurns(bytes)) !== expected) {
    throw new BlobError('corrupt', 'the content of the object differs from the content that was put');
  }
}

/** The name that callers see: the same form for all places, and no path of a machine. */
export function blobUri(container: string, key: string): string {
  checkKey(key);
  return `svc-object://${container}/${key}`;
}

/** Counts the calls under way, so that closing can wait for them. */
export class OpenCalls {
  #closed = false;
  #count = 0;
  #idle: (() => void) | undefined;

  async during<R>(work: () => Promise<R>): Promise<R> {
    if (this.#closed) throw new BlobError('unavailable', 'the object store is closed');
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#idle?.();
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    if (this.#count === 0) return Promise.resolve();
    const idle = Promise.withResolvers<void>();
    const before = this.#idle;
    this.#idle = () => {
      before?.();
      idle.resolve();
    };
    return idle.promise;
  }
}
