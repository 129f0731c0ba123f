import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import type { HandlerFacts } from './rules/start.ts';
import { checkLine, checkMap } from './text-checks.ts';

/**
 * A handler as the status document shows it. Ids are unique; a handler is executed in process or by external workers.
 */
export interface HandlerDescriptor extends HandlerFacts {
  readonly displayName: string;
  readonly description: string | null;
  readonly tags: Readonly<Record<string, string>>;
}

export interface PluginDescriptor {
  readonly pluginId: string;
  readonly name: string;
  readonly version: string;
  readonly handlerIds: readonly string[];
}

/** A handler as its plugin or the settings define it: everything but the id has a default. */
export type HandlerDefinition = Pick<HandlerDescriptor, 'handlerId'> & {
  readonly [M in keyof HandlerDescriptor]?: HandlerDescriptor[M] | undefined;
};

export function describeHandler(handler: HandlerDefinition): HandlerDescriptor {
  const { handlerId, pluginId, displayName, description, maxAttempts, concurrencyKey, tags } = handler;
  return {
    handlerId,
    pluginId: pluginId ?? null,
    displayName: displayName ?? handlerId,
    description: description ?? null,
    maxAttempts: maxAttempts ?? 1,
    concurrencyKey: concurrencyKey ?? null,
    tags: tags ?? {},
  };
}

export interface RegisteredHandler extends HandlerDescriptor {
  readonly kind: 'process' | 'external';
  /** An internal handler: only an operation of the service starts it, and callers do not see it. */
  readonly builtIn?: true;
  /** Absent where the settings or a plugin define the handler: callers of each scope may start it then. */
  readonly isIn?: IsIn;
}

/** Whether the handler exists for runs of the scope. */
type IsIn = (scope: HandlerScope | null) => boolean;

interface HandlerScope {
  readonly productId: string;
  readonly tenantId: string;
}

/** The registered handlers. Registering an id twice, or a handler of another plugin, throws. */
export class HandlerRegistry {
  readonly #handlers = new Map<string, RegisteredHandler>();
  readonly #plugins = new Map<string, PluginDescriptor>();
  readonly #pluginIds = new Set<string>();
  readonly #keyLimits: ReadonlyMap<string, number>;
  readonly #reaches: (handlerId: string, kind: RegisteredHandler['kind']) => boolean;

  /** `reaches` returns whether the queue has a route to a worker for the handler. `keyLimits`: see `concurrencyLimitOf`. */
  constructor(
    reaches: (handlerId: string, kind: RegisteredHandler['kind']) => boolean = () => true,
    keyLimits: ReadonlyMap<string, number> = new Map(),
  ) {
    this.#reaches = reaches;
    this.#keyLimits = keyLimits;
  }

  /** Runs of the handler with the same key of a start request that may be executed at a time. */
  concurrencyLimitOf(handlerId: string): number {
    return this.#keyLimits.get(handlerId) ?? 1;
  }

  get(handlerId: string): RegisteredHandler | undefined {
    return this.#handlers.get(handlerId);
  }

  /** The handler of a new run. For callers the handlers of the service do not exist, and for jobs only they do. */
  startable(handlerId: string, isJob: boolean, scope: HandlerScope | null): RegisteredHandler | undefined {
    const handler = this.#handlers.get(handlerId);
    return (handler?.builtIn === true) === isJob && handler?.isIn?.(scope) !== false ? handler : undefined;
  }

  /** As `handlers`, without those of workers of other tenants. */
  handlersIn(scope: HandlerScope | null): readonly RegisteredHandler[] {
    return this.handlers.filter(({ isIn }) => isIn?.(scope) !== false);
  }

  /** By id, without the handlers of the service. */
  get handlers(): readonly RegisteredHandler[] {
    return this.#sorted.filter(({ builtIn }) => builtIn !== true);
  }

  get #sorted(): readonly RegisteredHandler[] {
    return [...this.#handlers.values()].sort((a, b) => (a.handlerId < b.handlerId ? -1 : 1));
  }

  /** Sorted by id. */
  get plugins(): readonly PluginDescriptor[] {
    return [...this.#plugins.values()].sort((a, b) => (a.pluginId < b.pluginId ? -1 : 1));
  }

  /** Handlers with this concurrency key. */
  sharing(concurrencyKey: string): readonly string[] {
    return this.#sorted
      .filter((handler) => handler.concurrencyKey === concurrencyKey)
      .map(({ handlerId }) => handlerId);
  }

  /** `isIn`: the scopes in which it exists; all of them where it is left out. */
  addExternal(handler: HandlerDescriptor, isIn?: IsIn): void {
    checkHandler(handler);
    this.#add({ ...handler, kind: 'external', ...(isIn && { isIn }) });
  }

  addPlugin(plugin: Omit<PluginDescriptor, 'handlerIds'>, handlers: readonly HandlerDescriptor[]): void {
    this.#addHandlersOf(plugin, handlers);
    this.#plugins.set(plugin.pluginId, { ...plugin, handlerIds: handlers.map(({ handlerId }) => handlerId) });
  }

  /** Adds internal handlers of the service. Callers see neither them nor their plugin. */
  addBuiltIn(plugin: Omit<PluginDescriptor, 'handlerIds'>, handlers: readonly HandlerDescriptor[]): void {
    this.#addHandlersOf(plugin, handlers, true);
  }

  #addHandlersOf(
    plugin: Omit<PluginDescriptor, 'handlerIds'>,
    handlers: readonly HandlerDescriptor[],
    builtIn?: true,
  ): void {
    checkPlugin(plugin);
    for (const handler of handlers) checkHandler(handler);
    if (this.#pluginIds.has(plugin.pluginId))
      throw new Error(`plugin ${plugin.pluginId} is registered twice`);
    const foreign = handlers.find(({ pluginId }) => pluginId !== null && pluginId !== plugin.pluginId);
    if (foreign !== undefined) {
      throw new Error(`handler ${foreign.handlerId} names another plugin than ${plugin.pluginId}`);
    }
    for (const handler of handlers) {
      if (this.#handlers.has(handler.handlerId))
        throw new Error(`handler ${handler.handlerId} is registered twice`);
    }
    const mark = builtIn === undefined ? {} : { builtIn };
    for (const handler of handlers)
      this.#add({ ...handler, ...mark, pluginId: plugin.pluginId, kind: 'process' });
    this.#pluginIds.add(plugin.pluginId);
  }

  #add(handler: RegisteredHandler): void {
    if (this.#handlers.has(handler.handlerId)) {
      throw new Error(`handler ${handler.handlerId} is registered twice`);
    }
    this.#handlers.set(handler.handlerId, {
      ...handler,
      routed: this.#reaches(handler.handlerId, handler.kind),
    });
  }
}

/** Plugins may come without types, so the registry refuses values that the status document could not show. */
function checkPlugin({ pluginId, name, version }: Omit<PluginDescriptor, 'handlerIds'>): void {
  const of = `plugin ${shown(pluginId)}`;
  checkId(pluginId, `${of}: pluginId`);
  checkDisplay(name, limits.executionDisplayLengthMax, `${of}: name`);
  checkDisplay(version, limits.executionDisplayLengthMax, `${of}: version`);
}

function checkHandler(handler: HandlerDescriptor): void {
  const { handlerId, pluginId, displayName, description, maxAttempts, concurrencyKey, tags } = handler;
  const of = `handler ${shown(handlerId)}`;
  checkId(handlerId, `${of}: handlerId`);
  if (pluginId !== null) checkId(pluginId, `${of}: pluginId`);
  checkDisplay(displayName, limits.executionDisplayLengthMax, `${of}: displayName`);
  if (description !== null)
    checkDisplay(description, limits.executionDescriptionLengthMax, `${of}: description`);
  if (!(Number.isInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= limits.executionAttemptsMax)) {
    throw new Error(`${of}: maxAttempts must be a whole number from 1 to ${limits.executionAttemptsMax}`);
  }
  if (concurrencyKey !== null) checkId(concurrencyKey, `${of}: concurrencyKey`);
  const isMap = typeof tags === 'object' && tags !== null && !Array.isArray(tags);
  if (!isMap || Object.values(tags).some((value) => typeof value !== 'string')) {
    throw new Error(`${of}: tags must be texts by name`);
  }
  refusedAs(`${of}: tags`, () => checkMap(tags, '/tags'));
}

function shown(id: unknown): string {
  return JSON.stringify(id)?.slice(0, limits.executionIdentifierLengthMax) ?? 'without an id';
}

function checkId(value: unknown, what: string): void {
  if (typeof value !== 'string') throw new Error(`${what} must be a text`);
  refusedAs(what, () => identifier(value, ''));
  if (value !== value.trim()) throw new Error(`${what} must have no white space around it`);
}

function checkDisplay(value: unknown, lengthMax: number, what: string): void {
  if (typeof value !== 'string') throw new Error(`${what} must be a text`);
  refusedAs(what, () => checkLine(value, lengthMax, ''));
}

/** Applies the rules for callers, but throws an error for the author of the plugin. */
function refusedAs(what: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new Error(`${what} ${error.extensions.errors?.[0]?.detail ?? 'is not valid'}`, { cause: error });
  }
}
