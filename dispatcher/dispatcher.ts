import { bounded, retryDelay } from './calls.ts';
import type { OutboxLease } from './client.ts';
import { deferred } from './deferred.ts';
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

/** The time that a lease call may take in addition to its wait. */
const LEASE_CALL_MS = 30_000;
/** The time that an aborted lease call may take at a stop, and that the last releases of the stop may take. */
const LAST_CALLS_MS = 3_000;

/**
 * Delivers the outbox events of one tenant to handlers, at least once each. Events of one key are handled one at a
 * time, in the order of their leases; a failed event returns later and does not block the events behind it. An event
 * is acknowledged only if its lease was held until its handler returned.
 */
export class Dispatcher {
  readonly #options: Settled;
  readonly #context: DeliveryContext;
  readonly #lanes = new KeyLanes<Delivery>();
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  readonly #over = new AbortController();
  /** The lease calls without an answer, with those that were given up. */
  readonly #calls = new Set<Promise<unknown>>();
  #held = 0;
  #leasing: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #changed = deferred();

  constructor(options: DispatcherOptions) {
    this.#options = settle(options);
    this.#context = {
      options: this.#options,
      ending: this.#ending.signal,
      over: this.#over.signal,
      report: (event) => this.#report(event),
      fail: (error, context) => this.#fail(error, context),
    };
  }

  /** The number of leased events that are not yet acknowledged, released or lost. */
  get held(): number {
    return this.#held;
  }

  /** Starts to lease. A second call does nothing; a stopped dispatcher stays stopped. */
  start(): void {
    if (!this.#stopping.signal.aborted) this.#leasing ??= this.#lease();
  }

  /**
   * Stops leasing, releases events that were not begun, gives handlers the grace period, then aborts them and
   * releases their events. Settles a few seconds after the grace period at the latest. An event on its last delivery
   * is still begun: a release would dead-letter it without a try.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { world, graceSeconds, abortGraceSeconds } = this.#options;
    this.#stopping.abort();
    this.#wake();
    for (const delivery of this.#lanes.take((waiting) => this.#mustRelease(waiting)))
      void this.#release(delivery);
    const idle = this.#idle();
    await within(world, graceSeconds * 1000, idle);
    this.#ending.abort();
    for (const delivery of this.#lanes.take(() => true)) void this.#release(delivery);
    await within(world, abortGraceSeconds * 1000 + LAST_CALLS_MS, idle);
    this.#over.abort();
    await idle;
  }

  async #idle(): Promise<void> {
    await this.#leasing;
    // An aborted call may still bring events, which must be released before the end.
    await within(this.#options.world, LAST_CALLS_MS, Promise.allSettled(this.#calls));
    while (this.#held > 0) await this.#changed.promise;
  }

  /** Makes one call at a time, with a pause after an empty answer. */
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
    // A call that waited at the service counts towards the pause.
    if (rest > 0) await pause(world, rest, this.#stopping.signal);
  }

  #leaseOnce(maxItems: number): Promise<readonly OutboxLease[]> {
    const { client, world, tenantId, consumerId, leaseSeconds, waitSeconds } = this.#options;
    const request = { tenantId, consumerId, maxItems, leaseSeconds, waitSeconds };
    const call = async (signal: AbortSignal) => {
      const leases = await client.lease(request, { signal });
      // Release events of an answer that came too late: otherwise they stay leased until expiry.
      if (!signal.aborted) return leases;
      this.#accept(leases);
      return [];
    };
    const timeoutMs = waitSeconds * 1000 + LEASE_CALL_MS;
    return bounded(world, timeoutMs, this.#stopping.signal, (signal) => this.#kept(call(signal)));
  }

  #kept<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    const ended = () => this.#calls.delete(call);
    call.then(ended, ended);
    return call;
  }

  #accept(leases: readonly OutboxLease[]): void {
    if (leases.length === 0) return;
    const deliveries = leases.map((lease) => new Delivery(this.#context, lease));
    this.#held += deliveries.length;
    this.#report({ type: 'leased', count: leases.length });
    for (const delivery of deliveries) {
      if (this.#mustRelease(delivery)) void this.#release(delivery);
      else if (this.#lanes.enter(delivery.event.key, delivery)) void this.#run(delivery);
      else this.#dropIfLost(delivery);
    }
  }

  #mustRelease({ isLast }: Delivery): boolean {
    return this.#ending.signal.aborted || (this.#stopping.signal.aborted && !isLast);
  }

  /** Drops an event whose lease is lost while the event waits for its key. */
  #dropIfLost(delivery: Delivery): void {
    delivery.lost.addEventListener('abort', () => {
      if (this.#lanes.take((waiting) => waiting === delivery).length === 0) return;
      this.#report({ type: 'lost', event: delivery.event });
      this.#dropHeld();
    });
  }

  async #run(delivery: Delivery): Promise<void> {
    await this.#guarded(delivery, () => delivery.run());
    const next = this.#lanes.advance(delivery.event.key);
    if (next !== undefined) void this.#run(next);
    this.#dropHeld();
  }

  async #release(delivery: Delivery): Promise<void> {
    await this.#guarded(delivery, () => delivery.releaseUnbegun());
    this.#dropHeld();
  }

  /** A failure with one event must not block other events or a stop. */
  async #guarded({ event }: Delivery, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#fail(error, { during: 'handle', event });
    }
  }

  #dropHeld(): void {
    this.#held -= 1;
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = deferred();
    resolve();
  }

  #report(event: DispatcherEvent): void {
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
      // A failing hook must not stop deliveries, and there is no other hook to report to.
    }
  }
}
