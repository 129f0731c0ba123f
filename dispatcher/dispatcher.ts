import { bounded, retryDelay } from './calls.ts';
import type { OutboxLease } from './client.ts';
import { Delivery, type DeliveryContext } from './delivery.ts';
import { KeyLanes } from './key-lanes.ts';
import {
  type DispatcherEvent,
  type DispatcherOptions,
  type ErrorContext,
  type Settled,
  settle,
} from './options.ts';
import { pause, within } from './world.ts';

/** Beyond what a lease call waits, before it counts as failed. */
const LEASE_CALL_MS = 30_000;
/** What the last releases of a stop may take. */
const LAST_CALLS_MS = 3_000;

/**
 * Delivers the outbox events of one tenant to handlers, at least once each.
 *
 * Events of one key are handled one at a time, in the order in which they were leased; an event that failed comes again
 * later, and those behind it do not wait for it. Leases are renewed for as long as an event is held. An event is
 * acknowledged only after its handler has returned and while its lease was held throughout.
 */
export class Dispatcher {
  readonly #options: Settled;
  readonly #context: DeliveryContext;
  readonly #lanes = new KeyLanes<Delivery>();
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  readonly #over = new AbortController();
  #held = 0;
  #leasing: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(options: DispatcherOptions) {
    this.#options = settle(options);
    this.#context = {
      options: this.#options,
      ending: this.#ending.signal,
      over: this.#over.signal,
      tell: (event) => this.#tell(event),
      fail: (error, context) => this.#fail(error, context),
    };
  }

  /** Events that are leased and neither acknowledged nor given back nor lost. */
  get held(): number {
    return this.#held;
  }

  /** Begins to lease. Does nothing the second time; a dispatcher that was stopped stays so. */
  start(): void {
    if (!this.#stopping.signal.aborted) this.#leasing ??= this.#lease();
  }

  /**
   * Leases no more, gives back what was not begun, lets handlers end within the grace, then tells them to, and gives
   * their events back. Settles when nothing is under way, a few seconds after the grace at the latest.
   *
   * An event on its last delivery is begun even now: given back, it would be a dead letter that nobody tried.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { world, graceSeconds, abortGraceSeconds } = this.#options;
    this.#stopping.abort();
    this.#wake();
    for (const delivery of this.#lanes.take((waiting) => this.#returnsUnbegun(waiting)))
      void this.#return(delivery);
    const idle = this.#idle();
    await within(world, graceSeconds * 1000, idle);
    this.#ending.abort();
    for (const delivery of this.#lanes.take(() => true)) void this.#return(delivery);
    await within(world, abortGraceSeconds * 1000 + LAST_CALLS_MS, idle);
    this.#over.abort();
    await idle;
  }

  async #idle(): Promise<void> {
    await this.#leasing;
    while (this.#held > 0) await this.#changed.promise;
  }

  /** One call at a time, and never one straight after another that brought nothing. */
  async #lease(): Promise<void> {
    const { world, concurrency, batchSize, idleMs } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const free = concurrency - this.#held;
      if (free <= 0) {
        await this.#changed.promise;
        continue;
      }
      const beganAt = world.now();
      try {
        const leases = await this.#leaseOnce(Math.min(free, batchSize));
        failures = 0;
        if (leases.length > 0) this.#accept(leases);
        else await this.#pauseAfter(beganAt, idleMs * (1 - world.random() / 2));
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#fail(error, { during: 'lease', event: null });
        await pause(world, retryDelay(world, failures, error), signal);
      }
    }
  }

  async #pauseAfter(beganAt: number, ms: number): Promise<void> {
    const { world } = this.#options;
    const rest = beganAt + ms - world.now();
    // A call that waited at the service has done its pausing there.
    if (rest > 0) await pause(world, rest, this.#stopping.signal);
  }

  #leaseOnce(maxItems: number): Promise<readonly OutboxLease[]> {
    const { client, world, tenantId, consumerId, leaseSeconds, waitSeconds } = this.#options;
    const request = { tenantId, consumerId, maxItems, leaseSeconds, waitSeconds };
    return bounded(world, waitSeconds * 1000 + LEASE_CALL_MS, this.#stopping.signal, async (signal) => {
      const leases = await client.lease(request, { signal });
      // Nobody waits for this answer any more, but its events would be held up until their leases ran out.
      if (!signal.aborted) return leases;
      this.#accept(leases);
      return [];
    });
  }

  #accept(leases: readonly OutboxLease[]): void {
    if (leases.length === 0) return;
    const deliveries = leases.map((lease) => new Delivery(this.#context, lease));
    this.#held += deliveries.length;
    this.#tell({ type: 'leased', count: leases.length });
    for (const delivery of deliveries) {
      if (this.#returnsUnbegun(delivery)) void this.#return(delivery);
      else if (this.#lanes.enter(delivery.event.key, delivery)) void this.#run(delivery);
      else this.#forgetIfLost(delivery);
    }
  }

  #returnsUnbegun({ isLast }: Delivery): boolean {
    return this.#ending.signal.aborted || (this.#stopping.signal.aborted && !isLast);
  }

  /** A lease that is lost while its event waits for its key takes the event away. */
  #forgetIfLost(delivery: Delivery): void {
    delivery.lost.addEventListener('abort', () => {
      if (this.#lanes.take((waiting) => waiting === delivery).length === 0) return;
      this.#tell({ type: 'lost', event: delivery.event });
      this.#letGo();
    });
  }

  async #run(delivery: Delivery): Promise<void> {
    await this.#whatever(delivery, () => delivery.run());
    const next = this.#lanes.advance(delivery.event.key);
    if (next !== undefined) void this.#run(next);
    this.#letGo();
  }

  async #return(delivery: Delivery): Promise<void> {
    await this.#whatever(delivery, () => delivery.giveBack());
    this.#letGo();
  }

  /** Nothing that goes wrong with one event may hold up those behind it, or a stop. */
  async #whatever({ event }: Delivery, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#fail(error, { during: 'handle', event });
    }
  }

  #letGo(): void {
    this.#held -= 1;
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }

  #tell(event: DispatcherEvent): void {
    try {
      this.#options.onEvent(event);
    } catch (error) {
      this.#fail(error, { during: 'hook', event: null });
    }
  }

  #fail(error: unknown, context: ErrorContext): void {
    try {
      this.#options.onError(error, context);
    } catch {
      // A hook that fails must not stop deliveries, and there is nobody left to tell.
    }
  }
}
