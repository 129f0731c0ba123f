import type { RateLimits } from './model.ts';

// However often a target says that it is overloaded, so much of the rate is left.
const shareMin = 1 / 16;
const recoveryPerSuccess = 1 / 16;
// So that a sum of fractions counts as the whole it should be.
const tolerance = 1e-9;

/**
 * The token bucket of one queue: one token for each dispatch, refilled at the rate of the queue. A target that says that it is
 * overloaded (429, 503) halves the rate and the size of the bucket, and each success gives a little of it back.
 */
export class DispatchRate {
  #tokens: number;
  #filledAt: number;
  #share = 1;

  constructor(limits: RateLimits, now: number) {
    this.#tokens = limits.maxBurstSize;
    this.#filledAt = now;
  }

  /** The part of the rate that is in use. */
  get share(): number {
    return this.#share;
  }

  /** Takes a token, or answers in how many milliseconds there is one; 0 when it was taken. */
  take(limits: RateLimits, now: number): number {
    this.fill(limits, now);
    if (this.#tokens >= 1 - tolerance) {
      this.#tokens = Math.max(0, this.#tokens - 1);
      return 0;
    }
    return Math.max(1, Math.ceil(((1 - this.#tokens) / this.#rate(limits)) * 1000 - tolerance));
  }

  /** What was filled until now is of these limits, before they change. */
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
