import { ConflictError } from '../errors.ts';
import type { World } from '../world.ts';
import { fullJitter } from './backoff.ts';
import { legible, messageOf } from './legible.ts';
import { askedBy } from './repeat.ts';

/** The proof of a lease for the service. */
export interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

export interface RenewerOptions {
  readonly world: World;
  readonly leaseMs: number;
  readonly everyMs: number;
  /** Renews at the service. Resolves to whether a caller cancelled the run. */
  readonly renew: (proof: Proof, timeoutMs: number) => Promise<boolean>;
  readonly notify: (news: RenewalNews) => void;
}

/** An event of a lease, by the lease's number. `leftMs`: the rest of the lease. */
export type RenewalNews =
  | { readonly kind: 'renewed'; readonly id: number; readonly leftMs: number }
  | { readonly kind: 'cancelled'; readonly id: number }
  | { readonly kind: 'lost'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly why: string };

interface Kept {
  readonly proof: Proof;
  until: number;
  failures: number;
  isCancelled: boolean;
  /** Cancels the timer of the next renewal. */
  cancel: () => void;
  cancelEnd: () => void;
}

const CALL_MS_MAX = 20_000;
const BASE_MS = 250;

/** Renews leases until they are dropped. A lease is lost if it ends before a renewal succeeds, or if the service refuses it. */
export class Renewer {
  readonly #options: RenewerOptions;
  readonly #leases = new Map<number, Kept>();

  constructor(options: RenewerOptions) {
    this.#options = options;
  }

  keep(id: number, proof: Proof, leftMs: number): void {
    const { world, everyMs } = this.#options;
    const lease: Kept = {
      proof,
      until: world.now() + leftMs,
      failures: 0,
      isCancelled: false,
      cancel: () => undefined,
      cancelEnd: () => undefined,
    };
    this.#leases.set(id, lease);
    this.#endsAt(id, lease);
    this.#next(id, lease, Math.min(everyMs, leftMs / 2));
  }

  drop(id: number): void {
    const lease = this.#leases.get(id);
    this.#leases.delete(id);
    lease?.cancel();
    lease?.cancelEnd();
  }

  /** The rest of the lease; `null` if it is dropped or lost. */
  leftMs(id: number): number | null {
    const lease = this.#leases.get(id);
    return lease === undefined ? null : lease.until - this.#options.world.now();
  }

  #next(id: number, lease: Kept, delayMs: number): void {
    lease.cancel = this.#options.world.after(delayMs, () => void this.#renew(id, lease));
  }

  #endsAt(id: number, lease: Kept): void {
    const { world } = this.#options;
    lease.cancelEnd();
    lease.cancelEnd = world.after(Math.max(0, lease.until - world.now()), () => this.#lose(id, lease));
  }

  #lose(id: number, lease: Kept): void {
    if (this.#leases.get(id) !== lease) return;
    this.drop(id);
    this.#options.notify({ kind: 'lost', id });
  }

  async #renew(id: number, lease: Kept): Promise<void> {
    const { world, leaseMs, everyMs, renew, notify } = this.#options;
    const sentAt = world.now();
    const leftMs = lease.until - sentAt;
    if (leftMs <= 0) return this.#lose(id, lease);
    try {
      // The timeout leaves time for another try if the service does not answer.
      const timeoutMs = Math.min(CALL_MS_MAX, leftMs, Math.max(everyMs, leftMs / 2));
      const isCancelled = await renew(lease.proof, timeoutMs);
      if (this.#leases.get(id) !== lease) return;
      lease.failures = 0;
      // Count from before the request: the service renews later, so the lease lasts at least this long.
      lease.until = sentAt + leaseMs;
      this.#endsAt(id, lease);
      notify({ kind: 'renewed', id, leftMs: lease.until - world.now() });
      if (isCancelled && !lease.isCancelled) notify({ kind: 'cancelled', id });
      lease.isCancelled ||= isCancelled;
      this.#next(id, lease, everyMs);
    } catch (error) {
      this.#failed(id, lease, error);
    }
  }

  #failed(id: number, lease: Kept, error: unknown): void {
    if (this.#leases.get(id) !== lease) return;
    const { world, everyMs, notify } = this.#options;
    notify({ kind: 'failed', id, why: messageOf(error) || 'unknown' });
    if (legible(() => error instanceof ConflictError, false)) return this.#lose(id, lease);
    lease.failures += 1;
    const { failures } = lease;
    const random = world.random();
    const question = { failures, baseMs: BASE_MS, capMs: everyMs, random, askedMs: askedBy(error) };
    this.#next(id, lease, fullJitter(question));
  }
}
