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
  const room = declaredBytes === null ? new Chunks(receiving) : new Room(declaredBytes, receiving);
  for await (const chunk of body) room.add(chunk);
  const bytes = room.whole();
  return { bytes, contentHash: `sha256:${hash('sha256', bytes, 'hex')}` };
}

/** Holds the bytes of a body of unknown size. */
class Chunks {
  readonly #limits: Pick<Receiving, 'bytesMax' | 'lease'>;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(limits: Pick<Receiving, 'bytesMax' | 'lease'>) {
    this.#limits = limits;
  }

  add(chunk: Uint8Array): void {
    const { bytesMax, lease } = this.#limits;
    this.#size += chunk.byteLength;
    if (this.#size > bytesMax) throw tooLarge(bytesMax);
    lease.take(chunk.byteLength);
    this.#chunks.push(chunk);
  }

  whole(): Uint8Array {
    const [only] = this.#chunks;
    if (only !== undefined && this.#chunks.length === 1) return only;
    // Both copies are held for a moment.
    this.#limits.lease.take(this.#size);
    return Buffer.concat(this.#chunks, this.#size);
  }
}

/** Holds the bytes of a body of known size. */
class Room {
  readonly #bytes: Buffer;
  #size = 0;

  constructor(declaredBytes: number, { lease }: Pick<Receiving, 'lease'>) {
    lease.take(declaredBytes);
    this.#bytes = Buffer.allocUnsafe(declaredBytes);
  }

  add(chunk: Uint8Array): void {
    if (this.#size + chunk.byteLength > this.#bytes.byteLength) {
      throw new ServiceError('malformed_request', 'The body is longer than its declared length.');
    }
    this.#bytes.set(chunk, this.#size);
    this.#size += chunk.byteLength;
  }

  whole(): Uint8Array {
    if (this.#size === this.#bytes.byteLength) return this.#bytes;
    throw new ServiceError('malformed_request', 'The body is shorter than its declared length.');
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('payload_too_large', `An object has at most ${bytesMax} bytes.`);
}
