import type { BlobAttributes } from '../../functions/blobs/port.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';

/** A key that several writers write at the same time. */
export function sharedKey(number: number): string {
  return `shared/${number % 7}/${number}.bin`;
}

/** Large enough that writing it takes a while. */
export function contentOf(writer: string, key: string): Buffer {
  return Buffer.alloc(150_000 + key.length, `${writer} ${key};`);
}

export function writerAttributes(content: Uint8Array): BlobAttributes {
  return { contentType: 'application/octet-stream', sha256: sha256(content), metadata: {} };
}
