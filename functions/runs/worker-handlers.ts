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

/** Handlers that are added for one tenant, and all that are added. */
const LEARNT_PER_OWNER_MAX = 100;
const LEARNT_MAX = 1_000;

/** Names of the service's own handlers. */
const OWN_PREFIX = 'svc.';

/** An unknown handler of one caller is logged once in this time. */
const LINE_MS = 10 * 60_000;
/** Lines of one caller, and of all callers, in that time. */
const LINES_PER_CALLER_MAX = 20;
const LINES_MAX = 200;

/** A tenant of a product, or all tenants of it. */
interface Served {
  readonly productId: string;
  readonly tenantId: string | null;
}

/** A lease call that names handlers. */
export interface Naming {
  readonly handlerIds: readonly string[];
  /** Its log lines count against the caller. */
  readonly caller: string;
  /** The verified principal, for the log. */
  readonly principal: string | null;
  /** The tenants whose runs of the handler the worker may get; `null` without access grants, when no tenant is known. */
  readonly servedFor: (handlerId: string) => readonly Served[] | null;
  /** Whether the product policies let one of these tenants start the handler. */
  readonly mayStart: (handlerId: string) => boolean;
}

const FIRST: WorkerHandlersOptions['settings'] = {
  accepts: 'ExecutionRuntime:AcceptHandlersOfWorkers',
  named: 'ExecutionRuntime:ExternalHandlers',
};

/** Stands for all tenants where no access grants tell them apart. */
const EVERY = '*';

/**
 * The handlers that workers name. Where the settings accept them, the registry learns them for the tenants of the worker, within
 * bounds, until the process ends. Elsewhere they stay unknown, and a bounded number of log lines names them.
 */
export class WorkerHandlers {
  readonly #registry: HandlerRegistry;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #options: WorkerHandlersOptions;
  /** The tenants for which each handler was added. */
  readonly #learnt = new Map<string, Set<string>>();
  readonly #learntOf = new Map<string, number>();
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

  /** Returns the handlers of the call that its worker cannot execute. */
  named(naming: Naming): readonly string[] {
    const { caller, principal } = naming;
    const unknown = naming.handlerIds.filter((id) => !this.#isKnown(id, naming));
    for (const handlerId of unknown) {
      if (!this.#takeLine(caller, handlerId)) continue;
      const who = principal === null ? {} : { principal };
      this.#log({ severity: 'WARNING', message: this.#line(handlerId, naming), ...who, handlerId });
    }
    return unknown;
  }

  #line(handlerId: string, { mayStart }: Naming): string {
    const { accepts, settings } = this.#options;
    if (!mayStart(handlerId))
      return 'A worker asks for runs of a handler that ExecutionRuntime:ProductPolicies exclude for its tenants';
    if (accepts)
      return `A worker asks for runs of a handler that its calls cannot add: add it to ${settings.named}, if it is yours`;
    return `A worker asks for runs of a handler that the settings lack: add it to ${settings.named}`;
  }

  /**
   * A handler that the policies exclude is as unknown as one that does not exist: else a worker could find out which handlers other
   * products have. So is one that this process executes.
   */
  #isKnown(handlerId: string, naming: Naming): boolean {
    if (!naming.mayStart(handlerId)) return false;
    const isLearnt = this.#learnt.has(handlerId);
    const registered = this.#registry.get(handlerId);
    if (registered !== undefined && !isLearnt) return registered.kind === 'external';
    return this.#learn(handlerId, naming);
  }

  #learn(handlerId: string, { caller, servedFor }: Naming): boolean {
    // Jobs of groups that the settings turn off have such names too, and their runs are not for workers.
    if (!this.#options.accepts || handlerId.startsWith(OWN_PREFIX)) return false;
    const places = servedFor(handlerId)?.map(placeOf) ?? [EVERY];
    const own = this.#learnt.get(handlerId) ?? new Set();
    for (const place of places) {
      const owner = place === EVERY ? caller : place;
      const count = this.#learntOf.get(owner) ?? 0;
      if (own.has(place) || count >= LEARNT_PER_OWNER_MAX) continue;
      if (own.size === 0 && !this.#add(handlerId, own)) return false;
      own.add(place);
      this.#learntOf.set(owner, count + 1);
    }
    return places.some((place) => own.has(place));
  }

  #add(handlerId: string, places: Set<string>): boolean {
    if (this.#learnt.size >= LEARNT_MAX) return false;
    this.#learnt.set(handlerId, places);
    this.#registry.addExternal(describeHandler({ handlerId }), (scope) => {
      if (places.has(EVERY)) return true;
      return (
        scope !== null && (places.has(placeOf(scope)) || places.has(placeOf({ ...scope, tenantId: null })))
      );
    });
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

function placeOf({ productId, tenantId }: Served): string {
  return JSON.stringify([productId, tenantId]);
}
