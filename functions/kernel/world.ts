/**
 * What the service needs of the machine it runs on, handed in so that a test decides every one of them.
 * Nothing outside the composition root and the providers reads a clock, draws randomness or sets a timer.
 */

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

export interface RandomSource {
  /** `size` bytes that nobody can predict. */
  bytes(size: number): Uint8Array;
}

export interface Timers {
  /** Calls back once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Outgoing HTTP, the standard `fetch` signature. */
export type OutgoingHttp = (input: string | URL, init?: RequestInit) => Promise<Response>;

export interface World {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  readonly http: OutgoingHttp;
}

/** A promise that settles after `delayMs`, on the timers handed in. */
export function delay(timers: Timers, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(delayMs, resolve);
  });
}
