import { ServiceError } from '../../../kernel/errors.ts';

/** A snapshot is held whole, several times its size: so many at once, and so many that wait for their turn. */
const AT_ONCE = 2;
const WAITING_MAX = 8;
const RETRY_AFTER_SECONDS = 5;

/** Lets few exports and restores work at once in one instance, in the order in which they came. */
export class CopyGate {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * Throws `unavailable`, with nothing done, where too many wait already, and the reason of `signal` where the caller
   * disconnects.
   */
  async run<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The next waiting copy takes the place of the one that ends.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new ServiceError(
        'unavailable',
        'Too many exports and restores are under way in this instance; nothing was done.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}
