import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Clock, Timers } from '../kernel/world.ts';

export interface BodyPolicy {
  /** How long the server waits for a body that does not keep up with `bytesPerSecondMin`, also after fast bytes. */
  readonly timeoutMs: number;
  /** The bytes that a client must send in a second. Each byte extends the time, so that a large body over a slow line still arrives. */
  readonly bytesPerSecondMin: number;
}

export const bodyPolicy: BodyPolicy = {
  timeoutMs: limits.requestBodySeconds * 1000,
  bytesPerSecondMin: limits.requestBodyBytesPerSecondMin,
};

export interface StreamWorld {
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * The time that a client has for its body, while the server waits for it: at most `timeoutMs` without progress. Each
 * byte adds the time that it needs at the slowest allowed pace.
 */
export class BodyTime {
  readonly #policy: BodyPolicy;
  readonly #clock: Clock;
  #budgetMs: number;
  #since: number;

  constructor(policy: BodyPolicy, clock: Clock) {
    this.#policy = policy;
    this.#clock = clock;
    this.#budgetMs = policy.timeoutMs;
    this.#since = clock.now();
  }

  /** The server waits for the client again. The time of its own work does not count. */
  resume(): void {
    this.#since = this.#clock.now();
  }

  /** Adds time for the bytes that have arrived. */
  earn(bytes: number): void {
    const now = this.#clock.now();
    const spentMs = Math.max(0, now - this.#since);
    const earnedMs = (bytes * 1000) / this.#policy.bytesPerSecondMin;
    // Capped, so that a client cannot save up time with a fast start and then hold a connection.
    this.#budgetMs = Math.min(this.#policy.timeoutMs, this.#budgetMs - spentMs + earnedMs);
    this.#since = now;
  }

  /** Whole milliseconds that the client still has. */
  leftMs(): number {
    const spentMs = Math.max(0, this.#clock.now() - this.#since);
    return Math.max(0, Math.floor(this.#budgetMs - spentMs));
  }
}

export function timedOut(): ServiceError {
  return new ServiceError('request_timeout', 'The request body did not arrive in time.');
}
