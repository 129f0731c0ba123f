import { ServiceError } from '../kernel/errors.ts';

/**
 * Counts the memory of bodies and answers while their requests are under way. A few callers with large bodies, or with
 * large answers that they do not read, must not use up the memory of all others.
 */
export interface BytesInFlight {
  /** Begins to count for one request of the caller. */
  open(caller: string): Flight;
  /** The bytes of all requests together. */
  readonly total: number;
}

export interface BytesInFlightLimits {
  readonly perProcess: number;
  readonly perCaller: number;
}

/** The bytes of one request. */
export interface Flight {
  /** Counts bytes before the server holds them; throws where the caller or the process holds too many. */
  readonly take: (bytes: number) => void;
  /** Counts bytes of an answer whose work is done: such an answer is never refused. */
  readonly count: (bytes: number) => void;
  readonly release: () => void;
}

// Requests up to this size are neither counted nor refused: a busy neighbour never costs a small request its answer.
const smallBytes = 64 * 1024;
const retryAfterSeconds = 1;

export function createBytesInFlight({ perProcess, perCaller }: BytesInFlightLimits): BytesInFlight {
  const byCaller = new Map<string, number>();
  let total = 0;
  const add = (caller: string, bytes: number): void => {
    total += bytes;
    const held = (byCaller.get(caller) ?? 0) + bytes;
    if (held > 0) byCaller.set(caller, held);
    else byCaller.delete(caller);
  };
  return {
    get total() {
      return total;
    },
    open(caller) {
      let own = 0;
      let counted = 0;
      const count = (bytes: number): void => {
        own += bytes;
        if (own <= smallBytes) return;
        add(caller, own - counted);
        counted = own;
      };
      // A request alone is always admitted, however large its operation lets it be.
      const exceeds = (held: number, bytes: number, most: number): boolean =>
        held > counted && held - counted + own + bytes > most;
      return {
        take(bytes) {
          if (own + bytes > smallBytes) {
            if (exceeds(byCaller.get(caller) ?? 0, bytes, perCaller)) throw tooManyOfCaller();
            if (exceeds(total, bytes, perProcess)) throw tooMany();
          }
          count(bytes);
        },
        count,
        release() {
          add(caller, -counted);
          own = 0;
          counted = 0;
        },
      };
    },
  };
}

function tooManyOfCaller(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'The requests of this caller that are under way hold too many bytes. Read the answers, then try again.',
    { retryAfterSeconds },
  );
}

function tooMany(): ServiceError {
  return new ServiceError(
    'unavailable',
    'The requests that are under way hold too many bytes. Nothing was done. Try again.',
    { retryAfterSeconds },
  );
}
