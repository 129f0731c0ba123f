import { ManualWorld } from '../test/support/manual-world.ts';
import {
  type CallOptions,
  type Hold,
  type LeaseRequest,
  OutboxCallError,
  type OutboxClient,
  type OutboxEvent,
  type OutboxLease,
  type Release,
} from './client.ts';
import { Dispatcher } from './dispatcher.ts';
import type { DispatcherEvent, DispatcherOptions, ErrorContext } from './options.ts';

/** Runs everything that is due without advancing the time. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export const transient = (retryAfterMs: number | null = null) =>
  new OutboxCallError('transient', 'the service is away', { retryAfterMs });
export const lost = () => new OutboxCallError('lost', 'another holds it', { code: 'lease_stale' });
export const refusal = () => new OutboxCallError('refused', 'not allowed');

export function anEvent(id: string, more: Partial<OutboxEvent> = {}): OutboxEvent {
  return {
    id,
    tenantId: 'acme',
    transactionId: 't',
    topic: 'claim',
    key: id,
    payload: null,
    headers: {},
    deliveryCount: 1,
    maxDeliveryAttempts: null,
    lastError: null,
    ...more,
  };
}

type Verb = 'lease' | 'renew' | 'acknowledge' | 'release';

/** An outbox that returns the events a test gives it and records every call. */
class StagedOutbox implements OutboxClient {
  /** Every call in order, such as `acknowledge a`. */
  readonly calls: string[] = [];
  readonly leaseRequests: LeaseRequest[] = [];
  /** The results of the next calls of a verb: an error, no answer (`hang`), or success once a promise settles. */
  readonly faults: Record<Verb, (Error | 'hang' | Promise<void>)[]> = {
    lease: [],
    renew: [],
    acknowledge: [],
    release: [],
  };
  /** Whether an aborted lease call still delivers its events, as an answer under way would. */
  deaf = false;
  #given: OutboxEvent[][] = [];
  #waiting: ((events: OutboxEvent[]) => void) | null = null;

  /** Answers the waiting lease call, or else the next one. */
  async give(...events: OutboxEvent[]): Promise<void> {
    if (this.#waiting === null) this.#given.push(events);
    else this.#waiting(events);
    await turn();
  }

  /** A function that answers the current lease call at any later time. */
  answerer(): (...events: OutboxEvent[]) => Promise<void> {
    const waiting = this.#waiting;
    return async (...events) => {
      waiting?.(events);
      await turn();
    };
  }

  of(begin: Verb | `${Verb} ${string}`): string[] {
    return this.calls.filter((call) => call.startsWith(begin));
  }

  async lease(request: LeaseRequest, { signal }: CallOptions): Promise<readonly OutboxLease[]> {
    this.leaseRequests.push(request);
    await this.#call('lease', `${request.maxItems}`);
    const events = this.#given.shift() ?? (await this.#wait(signal));
    return events.map((event) => ({ event, leaseToken: `token of ${event.id}` }));
  }

  async renew(hold: Hold): Promise<void> {
    await this.#call('renew', nameOf(hold));
  }

  async acknowledge(hold: Hold): Promise<void> {
    await this.#call('acknowledge', nameOf(hold));
  }

  async release(hold: Hold, { retryAfterSeconds, error }: Release): Promise<void> {
    await this.#call('release', `${nameOf(hold)} ${retryAfterSeconds} ${error}`);
  }

  async #call(verb: Verb, subject: string): Promise<void> {
    this.calls.push(`${verb} ${subject}`);
    const fault = this.faults[verb].shift();
    if (fault === 'hang') await new Promise(() => {});
    if (fault instanceof Error) throw fault;
    if (fault instanceof Promise) await fault;
  }

  #wait(signal: AbortSignal): Promise<OutboxEvent[]> {
    return new Promise((resolve, reject) => {
      this.#waiting = (events) => {
        this.#waiting = null;
        resolve(events);
      };
      if (this.deaf) return;
      signal.addEventListener('abort', () => {
        this.#waiting = null;
        reject(new Error('aborted'));
      });
    });
  }
}

function nameOf({ tenantId, eventId, leaseToken }: Hold): string {
  if (tenantId !== 'acme' || leaseToken !== `token of ${eventId}`) throw new Error('another hold');
  return eventId;
}

/** A handler whose runs a test ends one by one. */
class StagedHandler {
  readonly begun: string[] = [];
  readonly aborted: Record<string, unknown> = {};
  readonly #runs = new Map<string, PromiseWithResolvers<void>>();
  /** Whether a run ends when its signal is aborted. */
  obeys = true;

  readonly handle = (event: OutboxEvent, { signal }: { signal: AbortSignal }): Promise<void> => {
    this.begun.push(event.id);
    const run = Promise.withResolvers<void>();
    this.#runs.set(event.id, run);
    signal.addEventListener('abort', () => {
      this.aborted[event.id] = (signal.reason as { reason: string }).reason;
      if (this.obeys) run.reject(signal.reason);
    });
    return run.promise;
  };

  async end(id: string, error?: unknown): Promise<void> {
    const run = this.#runs.get(id);
    if (run === undefined) throw new Error(`${id} is not being handled`);
    if (error === undefined) run.resolve();
    else run.reject(error);
    await turn();
  }
}

/** A dispatcher in a world whose time only the test advances. */
export class Stage {
  readonly world = new ManualWorld();
  readonly outbox = new StagedOutbox();
  readonly handler = new StagedHandler();
  readonly reported: DispatcherEvent[] = [];
  readonly errors: { error: unknown; context: ErrorContext }[] = [];
  /** The value of every random draw, from 0 to 1. */
  dice = 0.5;
  readonly dispatcher: Dispatcher;

  constructor(options: Partial<DispatcherOptions> = {}) {
    this.dispatcher = new Dispatcher({
      client: this.outbox,
      tenantId: 'acme',
      consumerId: 'test',
      handlers: { claim: this.handler.handle },
      concurrency: 4,
      leaseSeconds: 30,
      world: {
        now: () => this.world.now,
        after: this.world.timers.after,
        random: () => this.dice,
      },
      onEvent: (event) => void this.reported.push(event),
      onError: (error, context) => void this.errors.push({ error, context }),
      ...options,
    });
  }

  static async started(options: Partial<DispatcherOptions> = {}): Promise<Stage> {
    const stage = new Stage(options);
    stage.dispatcher.start();
    await turn();
    return stage;
  }

  /** Advances in steps, so that the effects of one timer are complete before the next one fires. */
  async pass(ms: number, stepMs = 500): Promise<void> {
    const end = this.world.now + ms;
    while (this.world.now < end) {
      this.world.advance(Math.min(stepMs, end - this.world.now));
      await turn();
    }
  }

  types(): string[] {
    return this.reported.map(({ type }) => type).filter((type) => type !== 'leased');
  }
}
