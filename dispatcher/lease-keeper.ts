import { bounded, retryDelay } from './calls.ts';
import { failureOf, type Hold, type OutboxClient } from './client.ts';
import type { DispatcherWorld } from './world.ts';

/** Renewed when so much of the lease has passed: two more tries fit in before it is over. */
const RENEW_AT = 1 / 3;

export interface LeaseKeeperOptions {
  readonly client: OutboxClient;
  readonly world: DispatcherWorld;
  readonly hold: Hold;
  readonly leaseSeconds: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Holds one lease by renewing it in time, and tells when it is lost: when the service says so, or when it has run out by
 * our own clock. The tokens of the service decide whose the event is; this only keeps work from going on in vain.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #until: number;
  #cancelRenewal: () => void = () => {};
  #cancelExpiry: () => void = () => {};

  /** Begins at once: the lease counts from the arrival of the answer that brought it. */
  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#until = 0;
    this.#holdFrom(options.world.now());
  }

  /** Aborted when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** When the lease runs out, by the dispatcher's clock. */
  get until(): number {
    return this.#until;
  }

  /** Renews no more, and says nothing more of a loss. The last term of the lease goes on. */
  end(): void {
    this.#ended.abort();
    this.#cancelRenewal();
    this.#cancelExpiry();
  }

  #holdFrom(from: number): void {
    const { world } = this.#options;
    const leaseMs = this.#options.leaseSeconds * 1000;
    this.#until = from + leaseMs;
    this.#cancelExpiry();
    this.#cancelExpiry = world.after(this.#until - world.now(), () => this.#lose());
    this.#renewAfter(from + leaseMs * RENEW_AT - world.now(), 1);
  }

  #renewAfter(delayMs: number, tries: number): void {
    this.#cancelRenewal();
    this.#cancelRenewal = this.#options.world.after(delayMs, () => void this.#renew(tries));
  }

  async #renew(tries: number): Promise<void> {
    const { client, world, hold, leaseSeconds, onError } = this.#options;
    const sentAt = world.now();
    try {
      const timeoutMs = leaseSeconds * 1000 * RENEW_AT;
      await bounded(world, timeoutMs, this.#ended.signal, (signal) =>
        client.renew(hold, leaseSeconds, { signal }),
      );
      // Counted from before the call: the service cannot have begun the new term any earlier.
      if (!this.#over) this.#holdFrom(sentAt);
    } catch (error) {
      if (this.#over) return;
      onError(error);
      if (failureOf(error) === 'transient') this.#renewAfter(retryDelay(world, tries, error), tries + 1);
      else this.#lose();
    }
  }

  get #over(): boolean {
    return this.#ended.signal.aborted || this.#lost.signal.aborted;
  }

  #lose(): void {
    this.end();
    this.#lost.abort();
  }
}
