import { SvcClient } from '../client.ts';
import { settingsOf } from '../core.ts';
import { SvcError } from '../errors.ts';
import type { ClientOptions, Settings } from '../options.ts';
import type { RunContext } from './context.ts';
import { type Logger, loggerOf, type WorkerLog } from './log.ts';
import { type LeaseMembers, NewerMembers } from './newer-members.ts';
import { UnknownHandlers } from './unknown-handlers.ts';

/**
 * Executes one run. Its return value, as JSON, is the result. It may run again after a crash, a retry or a wait: make its
 * effects repeatable, or record them in a checkpoint.
 */
export type WorkerHandler = (context: RunContext) => unknown;

/** A handler that has its id, as `defineHandler` makes it. */
export interface NamedHandler extends WorkerHandler {
  readonly id: string;
  /** The version of its code. */
  readonly version?: string;
  /** Checkpoints that come with the lease. */
  readonly checkpointKeys?: readonly string[];
}

export interface WorkerOptions {
  /** A client, or the options of one. From the environment if absent. */
  readonly client?: SvcClient | ClientOptions | undefined;
  /** The name of the worker. Only their leases distinguish two processes of one name. */
  readonly workerId: string;
  /** The handlers by id, or a list of handlers with steps: 1 to 32. The service must know each id as external. */
  readonly handlers: Readonly<Record<string, WorkerHandler>> | readonly NamedHandler[];
  /** If given, a run of another plugin fails with the class `plugin_mismatch`. */
  readonly pluginId?: string | undefined;
  /** The number of runs at a time; 1 if absent. */
  readonly concurrency?: number | undefined;
  /** How long a run stays leased to a silent worker; above 0, at most 86,400, and 60 if absent. */
  readonly leaseSeconds?: number | undefined;
  /** The time between two renewals; less than `leaseSeconds`, and a third of it if absent. */
  readonly heartbeatSeconds?: number | undefined;
  /**
   * `thread`: a thread of its own renews leases, so handlers may block the event loop. `event-loop`: for clients with a
   * `fetch` of their own, which another thread cannot call; handlers must not block the event loop for long.
   */
  readonly heartbeatFrom?: 'thread' | 'event-loop' | undefined;
  /** How long a request for a run waits at the service; 0 to 20, and 20 if absent. */
  readonly waitSeconds?: number | undefined;
  /** The pause after an immediate answer without a run; at most 60, and 1 if absent. */
  readonly idleSeconds?: number | undefined;
  /** The longest random pause after failed requests for a run; 30 if absent. */
  readonly backoffSecondsMax?: number | undefined;
  /**
   * Receives log entries, with the errors of handlers. Without it the worker logs nothing, except that a handler which the service
   * does not know is a warning of the process.
   */
  readonly log?: WorkerLog | undefined;
  /** Stops the worker as `stop()` does. */
  readonly signal?: AbortSignal | undefined;
}

/** The checked options with all defaults filled in. */
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
  readonly log: Logger;
  readonly unknown: UnknownHandlers;
  readonly newer: NewerMembers;
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
  check(typeof workerId === 'string' && workerId.trim() !== '', 'workerId must be a name that is not blank.');
  check(
    leaseSeconds > 0 && leaseSeconds <= LEASE_SECONDS_MAX,
    `leaseSeconds must be above 0 and at most ${LEASE_SECONDS_MAX}.`,
  );
  check(
    heartbeatSeconds > 0 && heartbeatSeconds < leaseSeconds,
    'heartbeatSeconds must be above 0 and less than leaseSeconds.',
  );
  check(Number.isInteger(concurrency) && concurrency >= 1, 'concurrency must be a whole number from 1.');
  check(
    waitSeconds >= 0 && waitSeconds <= WAIT_SECONDS_MAX,
    `waitSeconds must be from 0 to ${WAIT_SECONDS_MAX}.`,
  );
  check(idleSeconds >= 0 && idleSeconds <= 60, 'idleSeconds must be from 0 to 60.');
  check(
    backoffSecondsMax > 0 && backoffSecondsMax <= 3_600,
    'backoffSecondsMax must be above 0 and at most 3600.',
  );
  check(
    heartbeatFrom === 'thread' || heartbeatFrom === 'event-loop',
    'heartbeatFrom must be thread or event-loop.',
  );
  check(
    heartbeatFrom === 'event-loop' || !connection.ownFetch,
    'A client with a fetch of its own cannot renew leases from a thread: set heartbeatFrom to "event-loop".',
  );
  const log = loggerOf(workerId.trim(), options.log);
  const handlers = handlersOf(options.handlers);
  return {
    client,
    connection,
    workerId: workerId.trim(),
    handlers,
    pluginId,
    concurrency,
    leaseMs: leaseSeconds * 1_000,
    heartbeatMs: heartbeatSeconds * 1_000,
    heartbeatFrom,
    waitMs: waitSeconds * 1_000,
    idleMs: idleSeconds * 1_000,
    backoffMsMax: backoffSecondsMax * 1_000,
    log,
    unknown: new UnknownHandlers(log),
    newer: new NewerMembers(leaseMembersOf(handlers)),
    signal: options.signal,
  };
}

/** A copy: the caller may change its object later. */
function handlersOf(given: WorkerOptions['handlers']): ReadonlyMap<string, WorkerHandler> {
  const handlers = new Map(entriesOf(given));
  check(handlers.size >= 1, 'handlers is empty: a worker needs at least one handler.');
  check(
    handlers.size <= HANDLERS_MAX,
    `handlers has more than ${HANDLERS_MAX} handlers: use several workers.`,
  );
  check(handlers.size === entriesOf(given).length, 'handlers names an id twice.');
  for (const [id, handler] of handlers) {
    check(id.trim() === id && id !== '', 'The id of a handler is blank, or has white space around it.');
    check(typeof handler === 'function', `The handler ${id} is not a function.`);
  }
  return handlers;
}

const VERSION_LENGTH_MAX = 160;

/** One version stands for all handlers that have it; of several each stands with its handler, as far as there is room. */
function leaseMembersOf(handlers: ReadonlyMap<string, WorkerHandler>): LeaseMembers {
  const named = [...handlers] as [string, Partial<NamedHandler>][];
  const versioned = named.filter(([, { version }]) => version !== undefined);
  const versions = new Set(versioned.map(([, { version }]) => version));
  const all = versioned.map(([id, { version }]) => (versions.size === 1 ? version : `${id}@${version}`));
  const handlerVersion = [...new Set(all)].join(', ');
  const checkpointKeys = [...new Set(named.flatMap(([, its]) => its.checkpointKeys ?? []))];
  return {
    ...(handlerVersion === '' || handlerVersion.length > VERSION_LENGTH_MAX ? {} : { handlerVersion }),
    ...(checkpointKeys.length === 0 ? {} : { checkpointKeys }),
  };
}

function entriesOf(given: WorkerOptions['handlers'] | undefined): [string, WorkerHandler][] {
  return isList(given) ? given.map((handler) => [handler.id, handler]) : Object.entries(given ?? {});
}

function isList(given: WorkerOptions['handlers'] | undefined): given is readonly NamedHandler[] {
  return Array.isArray(given);
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new SvcError(otherwise);
}
