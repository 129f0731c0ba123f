import { bounded, retryDelay } from './calls.ts';
import { failureOf, type Hold, type OutboxClient } from './client.ts';
import type { DispatcherWorld } from './world.ts';

/** The share of the lease after which it is renewed: two more tries fit in before it expires. */
const RENEW_AT = 1 / 3;

export interface LeaseKeeperOptions {
  readonly client: OutboxClient;
  readonly world: DispatcherWorld;
  readonly hold: Hold;
  readonly leaseSeconds: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Renews one lease in time and aborts `lost` when the service refuses the renewal or when the lease expires by the
 * local clock. The service decides who holds the event; the local clock only prevents useless work.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #until: number;
  #cancelRenewal: () => void = () => {};
  #cancelExpiry: () => void = () => {};

  /** Starts at once: the lease counts from the arrival of its answer. */
  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#until = 0;
    this.#holdFrom(options.world.now());
  }

  /** Aborted when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The expiry of the lease by the dispatcher's clock. */
  get until(): number {
    return this.#until;
  }

  /** Stops renewing and reports no loss any more. The current term of the lease stays in force. */
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
      // Count from before the call: the service cannot have started the new term earlier.
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
