import type { TurnRoom } from './turn-room.ts';

/**
 * The clock, randomness, timers and outgoing HTTP of the machine, handed in so that a test controls them.
 * Nothing outside the composition root and the providers reads a clock, draws randomness or sets a timer.
 */

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

export interface RandomSource {
  /** `size` unpredictable bytes. */
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
  /** Shares the event loop among all long work of the process. */
  readonly turns: TurnRoom;
}

/**
 * The moment of a decision. Read it after the locks are held, and at each try: time spent waiting for locks must not shorten a
 * lease, nor keep an ended one. It is never before the request, also if another clock gave the moment of the request.
 */
export function decisionTime(clock: Clock, requestedAt: number): number {
  return Math.max(requestedAt, clock.now());
}

/** A promise that settles after `delayMs`, on the timers handed in. */
export function delay(timers: Timers, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(delayMs, resolve);
  });
}
