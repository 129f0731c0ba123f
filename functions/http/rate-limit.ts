import { ServiceError } from '../kernel/errors.ts';
import type { Clock, Timers } from '../kernel/world.ts';
import type { BusyLine } from './busy-line.ts';
import type { RefusalDelays } from './refusal-delay.ts';

/**
 * A fixed window per source address, counted in this instance: two instances allow twice as much, and the edge of a window
 * lets through at most twice the limit in any span as long as a window.
 */

export interface RateLimitSettings {
  readonly permitLimit: number;
  readonly windowSeconds: number;
  /** How many requests may wait for the next window of their address instead of being refused; together, too. */
  readonly queueLimit: number;
  /** Whether a request that costs more than others takes more permits. */
  readonly isWeighed?: boolean;
}

// The share of its permits that an address may use at once before its requests wait for those of others.
const promptShare = 1 / 8;

/** Bytes of a body that one permit pays for. */
export const PERMIT_BYTES = 64 * 1024;

/** The multiple of its permits that a body costs when its lease is refused. */
export const REFUSED_BODY_FACTOR = 32;

/** The permits of a start that the service refuses and still stores. */
export const REFUSED_START_PERMITS = 10;

export interface RateLimitWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Shared by the limits of all rate classes. */
  readonly delays?: RefusalDelays;
  readonly line?: BusyLine;
}

export interface RateLimiter {
  /**
   * Takes a permit, waits for one if the queue allows, or throws `rate_limited`, after a delay for an address that
   * keeps sending. Reports the header fields in each case.
   */
  acquire(
    address: string,
    signal: AbortSignal,
    report: (fields: readonly HeaderField[]) => void,
  ): Promise<void>;
  /**
   * Takes further permits of the current window for an admitted request. It refuses nothing, so that a large request
   * needs one free permit only, and a deficit does not carry over to the next window.
   */
  charge(address: string, permits: number): void;
  /** How many addresses are being counted. */
  readonly size: number;
}

export type HeaderField = readonly [name: string, value: string];

interface Window {
  startedAt: number;
  used: number;
  refused: number;
  /** First come, first served. */
  readonly waiting: (() => void)[];
  /** Cancels the one timer for the end of the window, which is set while requests wait. */
  cancelEnd: (() => void) | null;
}

export function createRateLimiter(
  name: string,
  settings: RateLimitSettings,
  world: RateLimitWorld,
  addressesMax = 100_000,
): RateLimiter {
  return new FixedWindows(name, settings, world, addressesMax);
}

class FixedWindows implements RateLimiter {
  // A Map keeps the order of insertion, so the first key is the least recently used.
  readonly #windows = new Map<string, Window>();
  #waiting = 0;
  readonly #name: string;
  readonly #settings: RateLimitSettings;
  readonly #world: RateLimitWorld;
  readonly #addressesMax: number;
  readonly #windowMs: number;

  constructor(name: string, settings: RateLimitSettings, world: RateLimitWorld, addressesMax: number) {
    this.#name = name;
    this.#settings = settings;
    this.#world = world;
    this.#addressesMax = addressesMax;
    this.#windowMs = settings.windowSeconds * 1000;
  }

  get size(): number {
    return this.#windows.size;
  }

  async acquire(
    address: string,
    signal: AbortSignal,
    report: (fields: readonly HeaderField[]) => void,
  ): Promise<void> {
    const window = this.#windowOf(address);
    try {
      if (window.used < this.#settings.permitLimit && window.waiting.length === 0) {
        window.used += 1;
        if (this.#isAhead(window)) await this.#world.line?.turn();
      } else if (this.#waiting < this.#settings.queueLimit && !signal.aborted)
        await this.#queue(window, signal);
      else {
        window.refused += 1;
        await this.#world.delays?.wait(address, window.refused, signal);
        throw this.#refusal(window);
      }
    } finally {
      report(this.#fields(window));
    }
  }

  charge(address: string, permits: number): void {
    const window = this.#windows.get(address);
    if (window !== undefined) window.used += permits;
  }

  /** Whether the address spends its permits faster than the window gives them, beyond a share that any client may use at once. */
  #isAhead({ startedAt, used }: Window): boolean {
    const { permitLimit } = this.#settings;
    const given = (permitLimit * (this.#world.clock.now() - startedAt)) / this.#windowMs;
    return used > given + permitLimit * promptShare;
  }

  #windowOf(address: string): Window {
    const now = this.#world.clock.now();
    let window = this.#windows.get(address);
    if (window) this.#windows.delete(address);
    else if (this.#windows.size >= this.#addressesMax) this.#evict();
    window ??= { startedAt: now, used: 0, refused: 0, waiting: [], cancelEnd: null };
    this.#windows.set(address, window);
    const elapsed = now - window.startedAt;
    // A clock that was set back must not freeze a window. The timer admits waiting requests before new ones.
    if ((elapsed >= this.#windowMs || elapsed < 0) && window.waiting.length === 0) begin(window, now);
    return window;
  }

  /** Forgets the least recently used address without waiting requests. */
  #evict(): void {
    for (const [address, window] of this.#windows) {
      if (window.waiting.length > 0) continue;
      this.#windows.delete(address);
      return;
    }
  }

  async #queue(window: Window, signal: AbortSignal): Promise<void> {
    const admitted = Promise.withResolvers<void>();
    const leave = (): void => {
      const position = window.waiting.indexOf(admitted.resolve);
      if (position >= 0) window.waiting.splice(position, 1);
      if (window.waiting.length === 0) this.#forgetEnd(window);
      admitted.reject(new ServiceError('unavailable', 'The request was given up while it waited.'));
    };
    this.#waiting += 1;
    window.waiting.push(admitted.resolve);
    this.#admitAtEnd(window);
    signal.addEventListener('abort', leave, { once: true });
    try {
      await admitted.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      this.#waiting -= 1;
    }
  }

  /** Each timer begins a window and admits a full limit, so a second timer would admit a second limit. */
  #admitAtEnd(window: Window): void {
    const remainingMs = Math.max(1, window.startedAt + this.#windowMs - this.#world.clock.now());
    window.cancelEnd ??= this.#world.timers.after(remainingMs, () => {
      window.cancelEnd = null;
      begin(window, this.#world.clock.now());
      for (const admit of window.waiting.splice(0, this.#settings.permitLimit)) {
        window.used += 1;
        admit();
      }
      if (window.waiting.length > 0) this.#admitAtEnd(window);
    });
  }

  #forgetEnd(window: Window): void {
    window.cancelEnd?.();
    window.cancelEnd = null;
  }

  #refusal(window: Window): ServiceError {
    return new ServiceError('rate_limited', 'Too many requests from this address in the current window.', {
      retryAfterSeconds: this.#resetSeconds(window),
    });
  }

  /** The two fields of draft-ietf-httpapi-ratelimit-headers. */
  #fields(window: Window): readonly HeaderField[] {
    const { permitLimit, windowSeconds } = this.#settings;
    const remaining = Math.max(0, permitLimit - window.used);
    return [
      ['RateLimit-Policy', `"${this.#name}";q=${permitLimit};w=${windowSeconds}`],
      ['RateLimit', `"${this.#name}";r=${remaining};t=${this.#resetSeconds(window)}`],
    ];
  }

  #resetSeconds(window: Window): number {
    return Math.max(1, Math.ceil((window.startedAt + this.#windowMs - this.#world.clock.now()) / 1000));
  }
}

function begin(window: Window, now: number): void {
  window.startedAt = now;
  window.used = 0;
  window.refused = 0;
}
