import type { BlobStore } from '../../functions/blobs/port.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { Death } from './dying-store.ts';

const never = () => new Promise<never>(() => undefined);

/** A call of the process: its verb, and the collections of the keys that a transaction names. */
export interface MortalCall {
  readonly verb: string;
  readonly collections: readonly string[];
}

/**
 * The record store and the blob store of one process. It dies at one of its calls, before the call or after it: that call and
 * all later ones never settle.
 */
export class MortalProcess {
  readonly calls: MortalCall[] = [];
  /** Settles when the process has died. */
  readonly died: Promise<void>;
  readonly #death: Death;
  readonly #die: () => void;

  constructor(death: Death) {
    this.#death = death;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
  }

  store(inner: RecordStore): RecordStore {
    return this.#over(inner, ['transact', 'query', 'claim', 'due'], (verb, given) => {
      const { keys = [] } = (given[1] ?? {}) as {
        readonly keys?: readonly { key: { collection: string } }[];
      };
      return { verb, collections: verb === 'transact' ? keys.map(({ key }) => key.collection) : [] };
    });
  }

  blobs(inner: BlobStore): BlobStore {
    return this.#over(inner, ['put', 'get', 'remove'], (verb) => ({ verb: `blob ${verb}`, collections: [] }));
  }

  #over<T extends object>(
    inner: T,
    verbs: readonly string[],
    nameOf: (verb: string, given: readonly unknown[]) => MortalCall,
  ): T {
    return new Proxy(inner, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (!verbs.includes(String(name))) return member.bind(target) as unknown;
        return async (...given: unknown[]) => {
          this.calls.push(nameOf(String(name), given));
          const call = this.calls.length;
          const { at, after } = this.#death;
          if (call > at || (call === at && !after)) return this.#dead();
          const answer: unknown = await Reflect.apply(member, target, given);
          return call === at ? this.#dead() : answer;
        };
      },
    });
  }

  #dead(): Promise<never> {
    this.#die();
    return never();
  }
}
