import { ServiceError } from '../kernel/errors.ts';

const RETRY_AFTER_SECONDS = 1;
/** A call that holds no more is never refused: the connections bound how many there are. */
const SMALL_BYTES = 64 * 1024;
/** One space may hold half of what the process may. */
const SPACES_SHARE = 2;

/** The bytes of objects that one call holds in memory. */
export interface ByteLease {
  /** Counts bytes before they are held. Throws `unavailable` where the space or the process holds too many. */
  take(bytes: number): void;
  /** Gives all of them back. Without effect when it is called again. */
  release(): void;
}

/**
 * Counts the bytes of objects that a process holds in memory while they arrive, are stored, or leave. A space has a share, so
 * one that sends many large objects leaves room to the others. A call that is alone is never refused.
 */
export class BytesInFlight {
  readonly #processMax: number;
  readonly #spaceMax: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#processMax = bytesMax;
    this.#spaceMax = Math.ceil(bytesMax / SPACES_SHARE);
  }

  get total(): number {
    return this.#total;
  }

  lease(space: string): ByteLease {
    let own = 0;
    return {
      take: (bytes) => {
        const held = this.#held.get(space) ?? 0;
        const spaceIsFull = held > own && held + bytes > this.#spaceMax;
        const processIsFull = this.#total > own && this.#total + bytes > this.#processMax;
        if (own + bytes > SMALL_BYTES && (spaceIsFull || processIsFull)) throw tooManyBytes();
        own += bytes;
        this.#add(space, bytes);
      },
      release: () => {
        this.#add(space, -own);
        own = 0;
      },
    };
  }

  #add(space: string, bytes: number): void {
    const held = (this.#held.get(space) ?? 0) + bytes;
    this.#total += bytes;
    if (held > 0) this.#held.set(space, held);
    else this.#held.delete(space);
  }
}

function tooManyBytes(): ServiceError {
  return new ServiceError(
    'unavailable',
    'The objects that are being sent and read hold too many bytes. Nothing was done. Try again.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
