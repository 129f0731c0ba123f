import type { Log } from '../kernel/log.ts';
import { elapsedMs } from '../kernel/timestamp.ts';
import type { Clock } from '../kernel/world.ts';
import { describeHandler, type HandlerRegistry } from './handler-registry.ts';

export interface WorkerHandlersOptions {
  /** Whether a lease call adds the handlers that it names. */
  readonly accepts: boolean;
  /** The names of the settings, for messages. */
  readonly settings: { readonly accepts: string; readonly named: string };
}

/** Handlers that the lease calls of one tenant may add, and those of all tenants together. */
export const LEARNT_PER_OWNER_MAX = 100;
export const LEARNT_MAX = 1_000;

/** Names of the service's own handlers. */
const OWN_PREFIX = 'svc.';

/** An unknown handler of one caller is logged once in this time. */
const LINE_MS = 10 * 60_000;
/** Lines of one caller, and of all callers, in that time. */
export const LINES_PER_CALLER_MAX = 20;
export const LINES_MAX = 200;

/** A lease call that names handlers. */
export interface Naming {
  readonly workerId: string;
  readonly handlerIds: readonly string[];
  /** Its log lines count against the caller. */
  readonly caller: string;
  /** The tenants that the worker serves: an added handler counts against each. */
  readonly owners: readonly string[];
}

/** The handlers of a lease call that no worker may execute. */
export interface Named {
  readonly unknown: readonly string[];
  /** Whether one of them was logged now: the caller should hear of it at once. */
  readonly isNews: boolean;
}

const FIRST: WorkerHandlersOptions['settings'] = {
  accepts: 'ExecutionRuntime:AcceptHandlersOfWorkers',
  named: 'ExecutionRuntime:ExternalHandlers',
};

/**
 * The handlers that workers name. Where the settings accept them, the registry learns them, within bounds, until the process
 * ends. Elsewhere they stay unknown, and a bounded number of log lines names them.
 */
export class WorkerHandlers {
  readonly #registry: HandlerRegistry;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #options: WorkerHandlersOptions;
  readonly #learntOf = new Map<string, number>();
  #learnt = 0;
  /** The logged handlers of each caller in the present period. */
  #lines = new Map<string, Set<string>>();
  #lineCount = 0;
  #since = Number.NEGATIVE_INFINITY;

  constructor(
    registry: HandlerRegistry,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
    options: WorkerHandlersOptions = { accepts: false, settings: FIRST },
  ) {
    this.#registry = registry;
    this.#clock = clock;
    this.#log = log;
    this.#options = options;
  }

  /** What the answer to a rejected start advises beside the handlers that the caller may start. */
  get advice(): string {
    const { accepts, settings } = this.#options;
    return accepts
      ? `start a worker that names it (${settings.accepts} is true)`
      : `start a worker that names it, and add it to ${settings.named}`;
  }

  named({ workerId, handlerIds, caller, owners }: Naming): Named {
    const unknown = handlerIds.filter((id) => !this.#isKnown(id) && !this.#learn(id, owners));
    if (unknown.length === 0) return { unknown, isNews: false };
    const news = unknown.filter((id) => this.#takeLine(caller, id));
    if (news.length > 0) {
      const ids = news.map((id) => JSON.stringify(id)).join(', ');
      const message = `The worker ${JSON.stringify(workerId)} asks for runs of ${ids}, and gets none: ${this.#reason()}`;
      this.#log({ severity: 'WARNING', message });
    }
    return { unknown, isNews: news.length > 0 };
  }

  #reason(): string {
    const { accepts, settings } = this.#options;
    const why = accepts ? 'its calls have added as many handlers as they may; ' : '';
    return `${why}add what workers execute to ${settings.named}`;
  }

  #isKnown(handlerId: string): boolean {
    return this.#registry.get(handlerId)?.kind === 'external';
  }

  #learn(handlerId: string, owners: readonly string[]): boolean {
    if (!this.#options.accepts || this.#registry.get(handlerId) !== undefined) return false;
    // Jobs of groups that the settings turn off have such names too, and their runs are not for workers.
    if (handlerId.startsWith(OWN_PREFIX)) return false;
    const isFull = owners.some((owner) => (this.#learntOf.get(owner) ?? 0) >= LEARNT_PER_OWNER_MAX);
    if (isFull || this.#learnt >= LEARNT_MAX) return false;
    this.#registry.addExternal(describeHandler({ handlerId }));
    this.#learnt += 1;
    for (const owner of owners) this.#learntOf.set(owner, (this.#learntOf.get(owner) ?? 0) + 1);
    return true;
  }

  #takeLine(caller: string, handlerId: string): boolean {
    const now = this.#clock.now();
    if (elapsedMs(this.#since, now) >= LINE_MS) {
      this.#lines = new Map();
      this.#lineCount = 0;
      this.#since = now;
    }
    const own = this.#lines.get(caller) ?? new Set();
    if (own.has(handlerId) || own.size >= LINES_PER_CALLER_MAX || this.#lineCount >= LINES_MAX) return false;
    this.#lines.set(caller, own.add(handlerId));
    this.#lineCount += 1;
    return true;
  }
}
