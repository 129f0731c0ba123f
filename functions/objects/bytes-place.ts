import { BlobError, type BlobFailure, type BlobStore } from '../blobs/port.ts';
import { PayloadPieces } from '../collections/payload-pieces.ts';
import type { PayloadPlace } from '../collections/payload-place.ts';
import { sha256InTurns } from '../kernel/turns.ts';
import { type RecordStore, StoreError, type StoreFailure } from '../store/port.ts';

const FAILURES: Readonly<Partial<Record<BlobFailure, StoreFailure>>> = {
  full: 'full',
  unavailable: 'unavailable',
  corrupt: 'corrupt',
};

/**
 * Stores the bytes of large objects in the blob store, or in pieces in the record store of a deployment without one. Each reference
 * is written once. Throws `StoreError`, so that callers handle one kind of store failure.
 */
export function bytesPlaceOf(
  store: () => Promise<RecordStore>,
  blobs: (() => Promise<BlobStore>) | null,
): PayloadPlace {
  return blobs === null ? new PayloadPieces(store) : new ObjectBlobs(blobs);
}

class ObjectBlobs implements PayloadPlace {
  readonly #open: () => Promise<BlobStore>;

  constructor(open: () => Promise<BlobStore>) {
    this.#open = open;
  }

  async put(reference: string, bytes: Uint8Array): Promise<void> {
    const sha256 = await sha256InTurns(bytes);
    // The caller's media type stays in the head: a browser that opens the blob elsewhere must not run it.
    const attributes = { contentType: 'application/octet-stream', sha256, metadata: {} };
    return this.#during((blobs) => blobs.put(blobKey(reference), bytes, attributes));
  }

  get(reference: string, bytesMax: number): Promise<Uint8Array | null> {
    return this.#during(async (blobs) => (await blobs.get(blobKey(reference), bytesMax))?.bytes ?? null);
  }

  remove(reference: string): Promise<void> {
    return this.#during((blobs) => blobs.remove(blobKey(reference)));
  }

  async #during<R>(call: (blobs: BlobStore) => Promise<R>): Promise<R> {
    try {
      return await call(await this.#open());
    } catch (error) {
      const failure = error instanceof BlobError ? FAILURES[error.failure] : undefined;
      throw failure === undefined ? error : new StoreError(failure, String(error), { cause: error });
    }
  }
}

/** Two digits of the reference spread the files over folders. */
function blobKey(reference: string): string {
  return `objects/${reference.slice(0, 2)}/${reference}.bin`;
}
