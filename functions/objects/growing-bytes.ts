import type { ByteLease } from './object-memory.ts';

const STEP_BYTES_MIN = 64 * 1024;
const STEP_BYTES_MAX = 1024 * 1024;
/** Up to here a buffer grows by copies. */
const COPIED_BYTES_MAX = 1024 * 1024;

/**
 * Holds the bytes of a body in one buffer as they arrive, and takes them from the lease in steps: 64 KiB first, then as much again,
 * at most 1 MiB. Above 1 MiB the buffer gets its final size at once: the system gives memory only to written pages, and no copy is
 * needed in the end.
 */
export class GrowingBytes {
  readonly #most: number;
  readonly #lease: Pick<ByteLease, 'take'>;
  #bytes: Buffer = Buffer.alloc(0);
  #leased = 0;
  #size = 0;

  /** At most `most` bytes are added. */
  constructor(most: number, lease: Pick<ByteLease, 'take'>) {
    this.#most = most;
    this.#lease = lease;
  }

  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    while (this.#leased < size) {
      const step = Math.min(STEP_BYTES_MAX, Math.max(STEP_BYTES_MIN, this.#leased));
      const bytes = Math.min(step, this.#most - this.#leased);
      this.#lease.take(bytes);
      this.#leased += bytes;
    }
    if (this.#bytes.byteLength < size) this.#extend();
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  whole(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }

  #extend(): void {
    const bytes = Buffer.allocUnsafe(this.#leased <= COPIED_BYTES_MAX ? this.#leased : this.#most);
    bytes.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = bytes;
  }
}
