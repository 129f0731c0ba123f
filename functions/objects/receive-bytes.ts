import { hash } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import type { ByteLease } from './bytes-in-flight.ts';

/** The content of an object that has arrived. */
export interface ReceivedBytes {
  readonly bytes: Uint8Array;
  /** `sha256:` and 64 lower-case hexadecimal digits. */
  readonly contentHash: string;
}

export interface Receiving {
  readonly body: AsyncIterable<Uint8Array>;
  /** The `Content-Length` of the request, where it has one. The bytes then need no second copy. */
  readonly declaredBytes?: number | null | undefined;
  /** Instead: no more bytes arrive than so many, as of a part of a request of known size. They need no second copy either. */
  readonly roomBytes?: number | null | undefined;
  readonly bytesMax: number;
  readonly lease: ByteLease;
}

/**
 * Reads a body to its end and counts its bytes before they are held. Throws `payload_too_large` above `bytesMax`,
 * `malformed_request` above the declared size, and what the lease throws; the body is then not read further.
 */
export async function receiveBytes(receiving: Receiving): Promise<ReceivedBytes> {
  const { body, declaredBytes = null, bytesMax } = receiving;
  if (declaredBytes !== null && declaredBytes > bytesMax) throw tooLarge(bytesMax);
  const room = placeFor(receiving);
  for await (const chunk of body) room.add(chunk);
  const bytes = room.whole();
  return { bytes, contentHash: `sha256:${hash('sha256', bytes, 'hex')}` };
}

function placeFor(receiving: Receiving): Segments | Room {
  const { declaredBytes = null, roomBytes = null, bytesMax } = receiving;
  if (declaredBytes !== null) return new Room(declaredBytes, receiving, { isExact: true });
  if (roomBytes === null) return new Segments(receiving);
  return new Room(Math.min(roomBytes, bytesMax), receiving, { isExact: false });
}

const SEGMENT_BYTES_MIN = 64 * 1024;
const SEGMENT_BYTES_MAX = 1024 * 1024;

/** Holds the bytes of a body of unknown size, in segments: a buffer for each chunk takes hundreds of bytes beside its own. */
class Segments {
  readonly #limits: Pick<Receiving, 'bytesMax' | 'lease'>;
  readonly #segments: Buffer[] = [];
  /** Bytes of all segments. */
  #held = 0;
  /** Bytes that the last segment has room for. */
  #room = 0;
  #size = 0;

  constructor(limits: Pick<Receiving, 'bytesMax' | 'lease'>) {
    this.#limits = limits;
  }

  add(chunk: Uint8Array): void {
    const { bytesMax, lease } = this.#limits;
    this.#size += chunk.byteLength;
    if (this.#size > bytesMax) throw tooLarge(bytesMax);
    for (let from = 0; from < chunk.byteLength; ) {
      if (this.#room === 0) this.#extend(lease);
      const part = chunk.subarray(from, from + this.#room);
      const last = this.#segments.at(-1)!;
      last.set(part, last.byteLength - this.#room);
      this.#room -= part.byteLength;
      from += part.byteLength;
    }
  }

  whole(): Uint8Array {
    const [only] = this.#segments;
    if (only !== undefined && this.#segments.length === 1) return only.subarray(0, this.#size);
    // Both copies are held for a moment.
    this.#limits.lease.take(this.#size);
    return Buffer.concat(this.#segments, this.#size);
  }

  #extend(lease: ByteLease): void {
    const bytes = Math.min(SEGMENT_BYTES_MAX, Math.max(SEGMENT_BYTES_MIN, this.#held));
    lease.take(bytes);
    this.#segments.push(Buffer.allocUnsafe(bytes));
    this.#held += bytes;
    this.#room = bytes;
  }
}

/** Holds the bytes of a body of known size, or of at most so many bytes. */
class Room {
  readonly #bytes: Buffer;
  readonly #bytesMax: number;
  readonly #isExact: boolean;
  #size = 0;

  constructor(
    size: number,
    { lease, bytesMax }: Pick<Receiving, 'lease' | 'bytesMax'>,
    { isExact }: { readonly isExact: boolean },
  ) {
    lease.take(size);
    this.#bytes = Buffer.allocUnsafe(size);
    this.#bytesMax = bytesMax;
    this.#isExact = isExact;
  }

  add(chunk: Uint8Array): void {
    if (this.#size + chunk.byteLength > this.#bytes.byteLength) {
      if (!this.#isExact) throw tooLarge(this.#bytesMax);
      throw new ServiceError('malformed_request', 'The body is longer than its declared length.');
    }
    this.#bytes.set(chunk, this.#size);
    this.#size += chunk.byteLength;
  }

  whole(): Uint8Array {
    if (this.#size === this.#bytes.byteLength) return this.#bytes;
    if (!this.#isExact) return this.#bytes.subarray(0, this.#size);
    throw new ServiceError('malformed_request', 'The body is shorter than its declared length.');
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('payload_too_large', `An object has at most ${bytesMax} bytes.`);
}
