import { ServiceError } from '../kernel/errors.ts';
import { sha256InTurns } from '../kernel/turns.ts';
import { GrowingBytes } from './growing-bytes.ts';
import type { ByteLease } from './object-memory.ts';

/** The content of an object that has arrived. */
export interface ReceivedBytes {
  readonly bytes: Uint8Array;
  /** `sha256:` and 64 lower-case hexadecimal digits. */
  readonly contentHash: string;
}

export interface Receiving {
  readonly body: AsyncIterable<Uint8Array>;
  /** The `Content-Length` of the request, where it has one. */
  readonly declaredBytes?: number | null | undefined;
  /** A bound on the bytes where no size is declared, such as of a part of a request of known size. */
  readonly roomBytes?: number | null | undefined;
  readonly bytesMax: number;
  /** The refusal of more bytes. Default: `payload_too_large`. */
  readonly tooLarge?: ServiceError;
  readonly lease: ByteLease;
}

/**
 * Reads a body to its end and counts its bytes before they are held. Throws `payload_too_large` above `bytesMax`,
 * `malformed_request` for another size than the declared one, and what the lease throws, also while it waits for more of the body;
 * the body is then not read further.
 */
export async function receiveBytes(receiving: Receiving): Promise<ReceivedBytes> {
  const { declaredBytes = null, roomBytes = null, bytesMax, lease } = receiving;
  if (declaredBytes !== null && declaredBytes > bytesMax) throw overLimit(receiving);
  const most = Math.min(declaredBytes ?? roomBytes ?? bytesMax, bytesMax);
  const end = new EndOfUpload();
  lease.begin(declaredBytes ?? (roomBytes === null ? 0 : most), end.callback);
  const bytes = await arriving(receiving, end, most);
  lease.settle(bytes.byteLength);
  return { bytes, contentHash: await sha256InTurns(bytes) };
}

async function arriving(receiving: Receiving, end: EndOfUpload, most: number): Promise<Uint8Array> {
  const { body, declaredBytes = null, lease } = receiving;
  const held = new GrowingBytes(most, lease);
  // By hand: `for await` would wait for the caller's next bytes before it sees that the upload has ended.
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await end.before(iterator.next());
      if (step.done === true) break;
      if (held.size + step.value.byteLength > most)
        throw declaredBytes === null ? overLimit(receiving) : otherSize();
      lease.progress(step.value.byteLength);
      held.add(step.value);
    }
  } catch (error) {
    // Not awaited: it settles with the read that is under way.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
    throw error;
  }
  if (declaredBytes !== null && held.size < declaredBytes) throw otherSize();
  return held.whole();
}

/** Lets a lease end an upload that waits. A slot for one wait: a promise for the whole upload would keep a reaction for each wait. */
class EndOfUpload {
  #error: ServiceError | null = null;
  #reject: ((error: ServiceError) => void) | null = null;

  readonly callback = (error: ServiceError): void => {
    this.#error = error;
    this.#reject?.(error);
  };

  before<T>(action: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#error !== null) reject(this.#error);
      action.then(resolve, reject);
    });
  }
}

function otherSize(): ServiceError {
  return new ServiceError('malformed_request', 'The body is longer or shorter than its declared length.');
}

function overLimit({ bytesMax, tooLarge }: Receiving): ServiceError {
  return tooLarge ?? new ServiceError('payload_too_large', `An object has at most ${bytesMax} bytes.`);
}
