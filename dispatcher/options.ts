import type { Backoff } from './backoff.ts';
import type { OutboxClient, OutboxEvent } from './client.ts';
import { machine } from './machine.ts';
import type { DispatcherWorld } from './world.ts';

/**
 * Does the work of one event. When it returns, the event is acknowledged; when it throws, the event is given back and
 * comes again later. It may be called more than once for one event, so what it does must bear repeating.
 */
export type Handler = (event: OutboxEvent, context: HandlerContext) => unknown;

export interface HandlerContext {
  /**
   * Aborted, with a `DeliveryAborted` as its reason, when the work is no longer wanted: the lease is lost, the handler's
   * time is over, or the dispatcher stops. What the handler returns after that counts for nothing.
   */
  readonly signal: AbortSignal;
}

/** What happened, for logs and metrics. */
export type DispatcherEvent =
  | { readonly type: 'leased'; readonly count: number }
  /** Handled and acknowledged. */
  | { readonly type: 'delivered'; readonly event: OutboxEvent; readonly durationMs: number }
  /** Handled, but the acknowledgement did not arrive in time: the event comes again. */
  | { readonly type: 'unacknowledged'; readonly event: OutboxEvent; readonly durationMs: number }
  /** Not handled with success; comes again after `retryInMs`, or is a dead letter where this was its last delivery. */
  | {
      readonly type: 'failed';
      readonly event: OutboxEvent;
      readonly error: unknown;
      readonly retryInMs: number;
      readonly durationMs: number;
    }
  /** The lease was lost, before or while the event was handled. */
  | { readonly type: 'lost'; readonly event: OutboxEvent }
  /** Given back without having been begun, because the dispatcher stops. */
  | { readonly type: 'returned'; readonly event: OutboxEvent };

/** What an error was about. */
export interface ErrorContext {
  readonly during: 'lease' | 'renew' | 'handle' | 'acknowledge' | 'release' | 'hook';
  readonly event: OutboxEvent | null;
}

export interface DispatcherOptions {
  readonly client: OutboxClient;
  readonly tenantId: string;
  /** Told to whoever looks at the outbox. Several dispatchers of one tenant have names of their own. */
  readonly consumerId: string;
  /** By topic. */
  readonly handlers?: Readonly<Record<string, Handler>>;
  /** For every topic that has no handler of its own. Without it, events of such a topic are given back with an error. */
  readonly fallback?: Handler;
  /** Events held at a time, of which each key has one under way. Default 8. */
  readonly concurrency?: number;
  /** Events of one lease call at most, 1 to 100. Default: as many as may be held. */
  readonly batchSize?: number;
  /** Default 60. It is renewed for as long as an event is held. */
  readonly leaseSeconds?: number;
  /** How long a lease call waits at the service for an event, 0 to 20. Default 20. */
  readonly waitSeconds?: number;
  /** An empty answer that came sooner than this is followed by a pause for the rest. Default 1,000. */
  readonly idleMs?: number;
  /** How long one handling may take. Default: for ever. */
  readonly handlerTimeoutSeconds?: number;
  /** When failed events come again, growing with their deliveries. Default 1 s up to 5 minutes. */
  readonly backoff?: Backoff;
  /** How long `stop` lets handlers end. Default 8. */
  readonly graceSeconds?: number;
  /** How long a handler whose signal was aborted may take to end before it is left to itself. Default 2. */
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

/** Throws a `RangeError` for what no dispatcher can work with. */
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

/** The handler of a topic, if there is one. */
export function handlerOf({ handlers, fallback }: Settled, topic: string): Handler | null {
  return Object.hasOwn(handlers, topic) ? (handlers[topic] ?? fallback) : fallback;
}
