import type { HandlerFacts } from './rules/start.ts';

/** A handler as the status surface shows it. Ids are unique; a handler is executed in process or by external workers. */
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

export interface RegisteredHandler extends HandlerDescriptor {
  readonly kind: 'process' | 'external';
}

/** Which handlers there are. What is registered twice, or by a plugin that is not its own, is a mistake of whoever does. */
export class HandlerRegistry {
  readonly #handlers = new Map<string, RegisteredHandler>();
  readonly #plugins = new Map<string, PluginDescriptor>();

  get(handlerId: string): RegisteredHandler | undefined {
    return this.#handlers.get(handlerId);
  }

  /** By id. */
  get handlers(): readonly RegisteredHandler[] {
    return [...this.#handlers.values()].sort((a, b) => (a.handlerId < b.handlerId ? -1 : 1));
  }

  /** By id. */
  get plugins(): readonly PluginDescriptor[] {
    return [...this.#plugins.values()].sort((a, b) => (a.pluginId < b.pluginId ? -1 : 1));
  }

  /** Handlers that share a concurrency key with this one, itself among them. */
  sharing(concurrencyKey: string): readonly string[] {
    return this.handlers
      .filter((handler) => handler.concurrencyKey === concurrencyKey)
      .map(({ handlerId }) => handlerId);
  }

  addExternal(handler: HandlerDescriptor): void {
    this.#add({ ...handler, kind: 'external' });
  }

  addPlugin(plugin: Omit<PluginDescriptor, 'handlerIds'>, handlers: readonly HandlerDescriptor[]): void {
    if (this.#plugins.has(plugin.pluginId)) throw new Error(`plugin ${plugin.pluginId} is registered twice`);
    const foreign = handlers.find(({ pluginId }) => pluginId !== null && pluginId !== plugin.pluginId);
    if (foreign !== undefined) {
      throw new Error(`handler ${foreign.handlerId} names another plugin than ${plugin.pluginId}`);
    }
    for (const handler of handlers) {
      if (this.#handlers.has(handler.handlerId))
        throw new Error(`handler ${handler.handlerId} is registered twice`);
    }
    for (const handler of handlers) this.#add({ ...handler, pluginId: plugin.pluginId, kind: 'process' });
    this.#plugins.set(plugin.pluginId, { ...plugin, handlerIds: handlers.map(({ handlerId }) => handlerId) });
  }

  #add(handler: RegisteredHandler): void {
    if (this.#handlers.has(handler.handlerId)) {
      throw new Error(`handler ${handler.handlerId} is registered twice`);
    }
    this.#handlers.set(handler.handlerId, handler);
  }
}
