import type { RateLimits } from './model.ts';

// The least share of the rate, after any number of overload answers.
const shareMin = 1 / 16;
const recoveryPerSuccess = 1 / 16;
// Lets a sum of fractions count as the whole number it should be.
const tolerance = 1e-9;

/**
 * The token bucket of one queue: one token per dispatch, refilled at the queue's rate. An overload answer (429, 503)
 * halves the rate and the bucket size; each success restores a little.
 */
export class DispatchRate {
  #tokens: number;
  #filledAt: number;
  #share = 1;

  constructor(limits: RateLimits, now: number) {
    this.#tokens = limits.maxBurstSize;
    this.#filledAt = now;
  }

  /** The share of the rate in use. */
  get share(): number {
    return this.#share;
  }

  /** Takes a token and returns 0, or returns the milliseconds until one is available. */
  take(limits: RateLimits, now: number): number {
    this.fill(limits, now);
    if (this.#tokens >= 1 - tolerance) {
      this.#tokens = Math.max(0, this.#tokens - 1);
      return 0;
    }
    return Math.max(1, Math.ceil(((1 - this.#tokens) / this.#rate(limits)) * 1000 - tolerance));
  }

  /** Fills the bucket up to now under the old limits, before they change. */
  fill(limits: RateLimits, now: number): void {
    const added = (Math.max(0, now - this.#filledAt) / 1000) * this.#rate(limits);
    this.#tokens = Math.min(this.#size(limits), this.#tokens + added);
    this.#filledAt = now;
  }

  slowDown(limits: RateLimits, now: number): void {
    this.fill(limits, now);
    this.#share = Math.max(shareMin, this.#share / 2);
    this.#tokens = Math.min(this.#tokens, this.#size(limits));
  }

  recover(limits: RateLimits, now: number): void {
    this.fill(limits, now);
    this.#share = Math.min(1, this.#share + recoveryPerSuccess);
  }

  #rate({ maxDispatchesPerSecond }: RateLimits): number {
    return maxDispatchesPerSecond * this.#share;
  }

  #size({ maxBurstSize }: RateLimits): number {
    return Math.max(1, maxBurstSize * this.#share);
  }
}
