import type { Backoff } from './backoff.ts';
import type { OutboxClient, OutboxEvent } from './client.ts';
import { machine } from './machine.ts';
import type { DispatcherWorld } from './world.ts';

/**
 * Does the work of one event. If it returns, the dispatcher acknowledges the event; if it throws, the dispatcher
 * releases the event for a later delivery. It may run more than once for one event, so its effect must be idempotent.
 */
export type Handler = (event: OutboxEvent, context: HandlerContext) => unknown;

export interface HandlerContext {
  /**
   * Aborted, with a `DeliveryAborted` as its reason, when the lease is lost, the handler's time is over, or the
   * dispatcher stops. The dispatcher ignores the return value of an aborted handler.
   */
  readonly signal: AbortSignal;
}

/** Reports for logs and metrics. */
export type DispatcherEvent =
  | { readonly type: 'leased'; readonly count: number }
  /** The event was handled and acknowledged. */
  | { readonly type: 'delivered'; readonly event: OutboxEvent; readonly durationMs: number }
  /** The event was handled, but the acknowledgement did not arrive in time: the event returns. */
  | { readonly type: 'unacknowledged'; readonly event: OutboxEvent; readonly durationMs: number }
  /** The handler failed. The event returns after `retryInMs`; on its last delivery it is dead-lettered. */
  | {
      readonly type: 'failed';
      readonly event: OutboxEvent;
      readonly error: unknown;
      readonly retryInMs: number;
      readonly durationMs: number;
    }
  /** The lease was lost before or during handling. */
  | { readonly type: 'lost'; readonly event: OutboxEvent }
  /** The dispatcher stopped, and the service has taken back the event, which was not begun. */
  | { readonly type: 'returned'; readonly event: OutboxEvent };

/** The subject of a reported error. */
export interface ErrorContext {
  readonly during: 'lease' | 'renew' | 'handle' | 'acknowledge' | 'release' | 'hook';
  readonly event: OutboxEvent | null;
}

export interface DispatcherOptions {
  readonly client: OutboxClient;
  readonly tenantId: string;
  /** The name that the outbox shows for this consumer. Each dispatcher of a tenant needs a name of its own. */
  readonly consumerId: string;
  /** Handlers by topic. */
  readonly handlers?: Readonly<Record<string, Handler>>;
  /**
   * Handles every topic that has no handler of its own. Without it, the dispatcher releases such events with an
   * error.
   */
  readonly fallback?: Handler;
  /** The number of events held at a time; each key has at most one active. Default 8. */
  readonly concurrency?: number;
  /** The number of events of one lease call at most, 1 to 100. Default: the free share of `concurrency`. */
  readonly batchSize?: number;
  /** Default 60. The dispatcher renews the lease while it holds the event. */
  readonly leaseSeconds?: number;
  /** The time that a lease call waits at the service for an event, 0 to 20. Default 20. */
  readonly waitSeconds?: number;
  /** The minimum time between an empty lease call and the next one. Default 1,000. */
  readonly idleMs?: number;
  /** The time that one handler call may take. Default: no limit. */
  readonly handlerTimeoutSeconds?: number;
  /** The delay of failed events, growing with their deliveries. Default 1 s up to 5 minutes. */
  readonly backoff?: Backoff;
  /** The time that `stop` gives active handlers to end. Default 8. */
  readonly graceSeconds?: number;
  /** The time that an aborted handler may take to end before the dispatcher abandons it. Default 2. */
  readonly abortGraceSeconds?: number;
  readonly onEvent?: (event: DispatcherEvent) => void;
  readonly onError?: (error: unknown, context: ErrorContext) => void;
  readonly world?: DispatcherWorld;
}

/** The options with their defaults. */
export type Settled = Required<Omit<DispatcherOptions, 'fallback' | 'handlerTimeoutSeconds'>> & {
  readonly fallback: Handler | null;
  readonly handlerTimeoutSeconds: number | null;
};

/** Throws a `RangeError` for an invalid option. */
export function settle(given: DispatcherOptions): Settled {
  const { concurrency = 8, handlerTimeoutSeconds = null, backoff = { baseMs: 1000, capMs: 300_000 } } = given;
  const settled: Settled = {
    client: given.client,
    tenantId: given.tenantId,
    consumerId: given.consumerId,
    handlers: given.handlers ?? {},
    fallback: given.fallback ?? null,
    concurrency: within('concurrency', concurrency, 1, 10_000, true),
    batchSize: within('batchSize', given.batchSize ?? Math.min(concurrency, 100), 1, 100, true),
    leaseSeconds: within('leaseSeconds', given.leaseSeconds ?? 60, 1, 86_400),
    waitSeconds: within('waitSeconds', given.waitSeconds ?? 20, 0, 20),
    idleMs: within('idleMs', given.idleMs ?? 1000, 10, 3_600_000),
    handlerTimeoutSeconds:
      handlerTimeoutSeconds === null
        ? null
        : within('handlerTimeoutSeconds', handlerTimeoutSeconds, 0.001, 86_400),
    backoff: {
      baseMs: within('backoff.baseMs', backoff.baseMs, 1, 86_400_000),
      capMs: within('backoff.capMs', backoff.capMs, 1, 86_400_000),
    },
    graceSeconds: within('graceSeconds', given.graceSeconds ?? 8, 0, 3600),
    abortGraceSeconds: within('abortGraceSeconds', given.abortGraceSeconds ?? 2, 0, 600),
    onEvent: given.onEvent ?? (() => {}),
    onError: given.onError ?? (() => {}),
    world: given.world ?? machine,
  };
  return settled;
}

function within(name: string, value: number, from: number, to: number, whole = false): number {
  if (value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
  throw new RangeError(`${name} must be ${whole ? 'a whole number' : 'a number'} from ${from} to ${to}`);
}

/** The handler of a topic, or `null`. */
export function handlerOf({ handlers, fallback }: Settled, topic: string): Handler | null {
  return Object.hasOwn(handlers, topic) ? (handlers[topic] ?? fallback) : fallback;
}
