import { backoffMs } from './backoff.ts';
import { repeat } from './calls.ts';
import {
  type CallOptions,
  type Hold,
  OutboxCallError,
  type OutboxEvent,
  type OutboxLease,
} from './client.ts';
import { askedDelayMs, DeliveryAborted, errorText, NoHandlerError } from './errors.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { type DispatcherEvent, type ErrorContext, handlerOf, type Settled } from './options.ts';
import { within } from './world.ts';

/** The delay of an event that was never begun: the shortest that the service accepts. */
const AT_ONCE_MS = 1;
const RELEASE_MS_MAX = 86_400_000;
const LATE = 'the event came after the stop had ended: it stays leased until its lease expires';

/** The part of the dispatcher that a delivery uses. */
export interface DeliveryContext {
  readonly options: Settled;
  /** Aborted when handlers must end. */
  readonly ending: AbortSignal;
  /** Aborted when all work and all calls must end. */
  readonly over: AbortSignal;
  readonly report: (event: DispatcherEvent) => void;
  readonly fail: (error: unknown, context: ErrorContext) => void;
}

/** One leased event, from the lease call until the event is acknowledged, released or lost. */
export class Delivery {
  readonly event: OutboxEvent;
  readonly #context: DeliveryContext;
  readonly #hold: Hold;
  readonly #keeper: LeaseKeeper;
  #beganAt = 0;

  constructor(context: DeliveryContext, { event, leaseToken }: OutboxLease) {
    const { client, world, tenantId, leaseSeconds } = context.options;
    this.event = event;
    this.#context = context;
    this.#hold = { tenantId, eventId: event.id, leaseToken };
    const onError = (error: unknown) => context.fail(error, { during: 'renew', event });
    this.#keeper = new LeaseKeeper({ client, world, hold: this.#hold, leaseSeconds, onError });
  }

  get lost(): AbortSignal {
    return this.#keeper.lost;
  }

  /** Whether a release would dead-letter the event. */
  get isLast(): boolean {
    const { deliveryCount, maxDeliveryAttempts } = this.event;
    return maxDeliveryAttempts !== null && deliveryCount >= maxDeliveryAttempts;
  }

  /** Handles the event, then acknowledges or releases it. */
  async run(): Promise<void> {
    const { world } = this.#context.options;
    this.#beganAt = world.now();
    const outcome = await this.#handle();
    // Another consumer may hold the event now: the service would refuse an acknowledgement or a release.
    if (this.lost.aborted) return this.#context.report({ type: 'lost', event: this.event });
    this.#keeper.end();
    if (outcome.succeeded) await this.#acknowledge();
    else await this.#releaseFailed(outcome.error);
  }

  /** Releases the event without having begun it. */
  async releaseUnbegun(): Promise<void> {
    this.#keeper.end();
    const { event } = this;
    const { over, report, fail } = this.#context;
    if (over.aborted) return fail(new OutboxCallError('transient', LATE), { during: 'release', event });
    const reason = event.lastError ?? 'the dispatcher stopped before it began';
    const outcome = await this.#release(AT_ONCE_MS, reason);
    // Without an answer the event may stay leased: the errors of the calls say so.
    if (outcome !== 'failed') report({ type: outcome === 'done' ? 'returned' : 'lost', event });
  }

  async #handle(): Promise<{ succeeded: true } | { succeeded: false; error: unknown }> {
    const { options, ending } = this.#context;
    const { world, handlerTimeoutSeconds, abortGraceSeconds } = options;
    const handler = handlerOf(options, this.event.topic);
    if (handler === null) return { succeeded: false, error: new NoHandlerError(this.event.topic) };
    const aborting = new AbortController();
    const abort = (reason: ConstructorParameters<typeof DeliveryAborted>[0]) => () =>
      aborting.abort(new DeliveryAborted(reason));
    const onLost = abort('lease_lost');
    const onEnding = abort('stopping');
    this.lost.addEventListener('abort', onLost);
    ending.addEventListener('abort', onEnding);
    const cancelTimeout =
      handlerTimeoutSeconds === null
        ? () => {}
        : world.after(handlerTimeoutSeconds * 1000, abort('handler_timeout'));
    try {
      const { signal } = aborting;
      const work = (async () => handler(this.event, { signal }))();
      const aborted = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve());
      });
      await Promise.race([Promise.allSettled([work]), aborted]);
      if (!signal.aborted) {
        await work;
        return { succeeded: true };
      }
      // Keep the key blocked until the handler ends, so that an obedient handler never overlaps the next event of its
      // key.
      await within(world, abortGraceSeconds * 1000, work);
      // Ignore the return value of an aborted handler: it may have stopped half-way.
      return { succeeded: false, error: signal.reason };
    } catch (error) {
      return { succeeded: false, error };
    } finally {
      cancelTimeout();
      this.lost.removeEventListener('abort', onLost);
      ending.removeEventListener('abort', onEnding);
    }
  }

  async #acknowledge(): Promise<void> {
    const { client } = this.#context.options;
    const outcome = await this.#repeat('acknowledge', (call) => client.acknowledge(this.#hold, call));
    const { event, durationMs } = this;
    if (outcome === 'lost') this.#context.report({ type: 'lost', event });
    else
      this.#context.report({ type: outcome === 'done' ? 'delivered' : 'unacknowledged', event, durationMs });
  }

  async #releaseFailed(error: unknown): Promise<void> {
    const retryInMs = this.#retryDelay(error);
    const { event, durationMs } = this;
    this.#context.fail(error, { during: 'handle', event });
    this.#context.report({ type: 'failed', event, error, retryInMs, durationMs });
    await this.#release(retryInMs, errorText(error));
  }

  #retryDelay(error: unknown): number {
    const { backoff, world } = this.#context.options;
    const asked = askedDelayMs(error);
    // An invalid delay must not turn the release into a refused call.
    if (Number.isNaN(asked)) return backoffMs(backoff, this.event.deliveryCount, () => world.random());
    return Math.min(Math.max(asked, AT_ONCE_MS), RELEASE_MS_MAX);
  }

  #release(retryInMs: number, error: string) {
    const { client } = this.#context.options;
    const release = { retryAfterSeconds: retryInMs / 1000, error };
    return this.#repeat('release', (call) => client.release(this.#hold, release, call));
  }

  #repeat(during: 'acknowledge' | 'release', call: (options: CallOptions) => Promise<void>) {
    const { options, over, fail } = this.#context;
    const { event } = this;
    const onError = (error: unknown) => fail(error, { during, event });
    const { until } = this.#keeper;
    return repeat({ world: options.world, until, signal: over, onError }, (signal) => call({ signal }));
  }

  get durationMs(): number {
    return this.#context.options.world.now() - this.#beganAt;
  }
}
