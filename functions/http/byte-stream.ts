import { createHash, type Hash } from 'node:crypto';
import type { ByteBody, ByteDigest } from './byte-body.ts';
import { FormParts, type SentBody } from './operation-input.ts';

/** Hands a request body to a handler as a stream: the handler pulls, and the client waits while the handler works. */

export interface ByteBodyHead {
  readonly mediaType: string;
  readonly fileName?: string | null;
}

/** A body that counts and hashes its bytes while a handler reads them. */
export function byteBody(chunks: AsyncIterable<Uint8Array>, head: ByteBodyHead): ByteBody {
  const { promise: digest, resolve, reject } = Promise.withResolvers<ByteDigest>();
  // A handler that reads the bytes alone sees the error there.
  digest.catch(() => {});
  let taken = false;
  const body: ByteBody = {
    mediaType: head.mediaType,
    fileName: head.fileName ?? null,
    digest,
    [Symbol.asyncIterator]() {
      if (taken) throw new Error('a body of bytes is read once');
      taken = true;
      return hashed(chunks, createHash('sha256'), resolve, reject);
    },
  };
  unread.set(body, () => {
    if (!taken) reject(new Error('the body was not read'));
  });
  return body;
}

const unread = new WeakMap<object, () => void>();

/** The streams of a body; none for a JSON body. */
export function streamsOf(sent: SentBody | undefined): readonly object[] {
  if (sent instanceof FormParts) return Object.values(sent.streams);
  return typeof sent === 'object' && sent !== null && unread.has(sent) ? [sent] : [];
}

/** Rejects the digest of every stream that was not read, at the end of its request. */
export function abandonStreams(streams: readonly object[]): void {
  for (const stream of streams) unread.get(stream)?.();
}

async function* hashed(
  chunks: AsyncIterable<Uint8Array>,
  hash: Hash,
  resolve: (digest: ByteDigest) => void,
  reject: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  let ended = false;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
    ended = true;
    resolve({ size, hash: `sha256:${hash.digest('hex')}` });
  } catch (error) {
    reject(error);
    throw error;
  } finally {
    // Settles for a reader that stops early; a digest that is settled already keeps its state.
    if (!ended) reject(new Error('the body was not read to its end'));
  }
}
