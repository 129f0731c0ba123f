import { SvcClient } from '../client.ts';
import { settingsOf } from '../core.ts';
import { SvcError } from '../errors.ts';
import type { ClientOptions, Settings } from '../options.ts';
import type { RunContext } from './context.ts';
import { type Tell, teller, type WorkerLog } from './log.ts';

/**
 * Carries out one run. What it returns, as JSON, is the result. It may be executed again, after a crash, a retry or a wait: what
 * it does elsewhere must bear repetition, or be kept in a checkpoint.
 */
export type WorkerHandler = (context: RunContext) => unknown;

export interface WorkerOptions {
  /** The client to work with, or what to make one of. The environment says it all where it is not given. */
  readonly client?: SvcClient | ClientOptions | undefined;
  /** Who works. Two processes of one name are told apart by their leases alone. */
  readonly workerId: string;
  /** By the ids of the handlers, of which the service must know as external: 1 to 32. */
  readonly handlers: Readonly<Record<string, WorkerHandler>>;
  /** Where it is given, a run of another plugin fails with the class `plugin_mismatch`. */
  readonly pluginId?: string | undefined;
  /** Runs that are under way at a time; 1 where it is not given. */
  readonly concurrency?: number | undefined;
  /** How long a run stays with a worker that is not heard of; above 0, at most 86,400, and 60 where it is not given. */
  readonly leaseSeconds?: number | undefined;
  /** How often a lease is renewed; less than `leaseSeconds`, and a third of it where it is not given. */
  readonly heartbeatSeconds?: number | undefined;
  /**
   * `thread`: leases are renewed by a thread of their own, whatever the handlers do to the event loop. `event-loop`: by this one,
   * for clients with a `fetch` of their own, which no other thread can call. A handler must not block it for long then.
   */
  readonly heartbeatFrom?: 'thread' | 'event-loop' | undefined;
  /** How long one question for a run waits at the service; 0 to 20, and 20 where it is not given. */
  readonly waitSeconds?: number | undefined;
  /** The pause after an answer without a run that came at once; 1 where it is not given, at most 60. */
  readonly idleSeconds?: number | undefined;
  /** The longest pause after questions that failed; it grows by chance up to here. 30 where it is not given. */
  readonly backoffSecondsMax?: number | undefined;
  /** Is told what happens, the errors of handlers included. */
  readonly log?: WorkerLog | undefined;
  /** Stops the worker, as `stop()` does. */
  readonly signal?: AbortSignal | undefined;
}

/** The options with everything that was left open decided, and judged. */
export interface WorkerSettings {
  readonly client: SvcClient;
  readonly connection: Settings;
  readonly workerId: string;
  readonly handlers: ReadonlyMap<string, WorkerHandler>;
  readonly pluginId: string | null;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly heartbeatFrom: 'thread' | 'event-loop';
  readonly waitMs: number;
  readonly idleMs: number;
  readonly backoffMsMax: number;
  readonly tell: Tell;
  readonly signal: AbortSignal | undefined;
}

const LEASE_SECONDS_MAX = 86_400;
const WAIT_SECONDS_MAX = 20;
const HANDLERS_MAX = 32;

export function settleWorker(options: WorkerOptions): WorkerSettings {
  const { workerId, leaseSeconds = 60, concurrency = 1, waitSeconds = WAIT_SECONDS_MAX } = options;
  const { heartbeatSeconds = leaseSeconds / 3, idleSeconds = 1, backoffSecondsMax = 30 } = options;
  const { heartbeatFrom = 'thread', pluginId = null } = options;
  const client = options.client instanceof SvcClient ? options.client : new SvcClient(options.client);
  const connection = settingsOf(client);
  check(typeof workerId === 'string' && workerId.trim() !== '', 'workerId names the worker.');
  check(
    leaseSeconds > 0 && leaseSeconds <= LEASE_SECONDS_MAX,
    `leaseSeconds is above 0 and at most ${LEASE_SECONDS_MAX}.`,
  );
  check(
    heartbeatSeconds > 0 && heartbeatSeconds < leaseSeconds,
    'heartbeatSeconds is above 0 and less than leaseSeconds.',
  );
  check(Number.isInteger(concurrency) && concurrency >= 1, 'concurrency is a whole number from 1.');
  check(waitSeconds >= 0 && waitSeconds <= WAIT_SECONDS_MAX, `waitSeconds is from 0 to ${WAIT_SECONDS_MAX}.`);
  check(idleSeconds >= 0 && idleSeconds <= 60, 'idleSeconds is from 0 to 60.');
  check(
    backoffSecondsMax > 0 && backoffSecondsMax <= 3_600,
    'backoffSecondsMax is above 0 and at most 3600.',
  );
  check(
    heartbeatFrom === 'thread' || heartbeatFrom === 'event-loop',
    'heartbeatFrom is thread or event-loop.',
  );
  check(
    heartbeatFrom === 'event-loop' || !connection.ownFetch,
    'A client with a fetch of its own cannot renew leases from a thread: say heartbeatFrom: "event-loop".',
  );
  return {
    client,
    connection,
    workerId: workerId.trim(),
    handlers: handlersOf(options.handlers),
    pluginId,
    concurrency,
    leaseMs: leaseSeconds * 1_000,
    heartbeatMs: heartbeatSeconds * 1_000,
    heartbeatFrom,
    waitMs: waitSeconds * 1_000,
    idleMs: idleSeconds * 1_000,
    backoffMsMax: backoffSecondsMax * 1_000,
    tell: teller(workerId.trim(), options.log),
    signal: options.signal,
  };
}

/** As they are now, whatever becomes of the object. */
function handlersOf(given: WorkerOptions['handlers']): ReadonlyMap<string, WorkerHandler> {
  const handlers = new Map(Object.entries(given ?? {}));
  check(handlers.size >= 1, 'handlers names no handler: a worker needs at least one.');
  check(handlers.size <= HANDLERS_MAX, `handlers names more than ${HANDLERS_MAX}: use several workers.`);
  for (const [id, handler] of handlers) {
    check(id.trim() === id && id !== '', 'An id of handlers is blank, or has white space around it.');
    check(typeof handler === 'function', `The handler ${id} is no function.`);
  }
  return handlers;
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new SvcError(otherwise);
}
