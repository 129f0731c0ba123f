import type { RecordData, RecordStore, Scope, TransactRequest, Write } from '../../functions/store/port.ts';

/** The calls that a dead process makes no more. */
const VERBS = new Set(['transact', 'query', 'claim', 'due', 'snapshot', 'swap', 'sweep', 'ping']);

const never = () => new Promise<never>(() => undefined);

/** Asked after each commit of a process, which dies there if the answer is true. */
export type IsDeadly = (commit: string) => boolean;

/** Names a commit by its collections and the status of a run: these repeat each time a step runs, unlike keys and content. */
function nameOf(scope: Scope, writes: readonly Write[]): string {
  const kinds = writes.map((write) => {
    const { collection } = 'put' in write ? write.put.key : write.remove;
    return collection === 'runs' && 'put' in write ? `runs ${write.put.head['status']}` : collection;
  });
  return `${scope.kind}: ${[...new Set(kinds)].toSorted().join(', ')}`;
}

/** A store whose process dies right after the first of its commits that is deadly: from then on no call settles. */
export class MortalStore {
  readonly store: RecordStore;
  /** Settles when the process has died. */
  readonly death: Promise<void>;
  readonly #inner: RecordStore;
  readonly #isDeadly: IsDeadly;
  readonly #die: () => void;
  #isDead = false;

  constructor(inner: RecordStore, isDeadly: IsDeadly) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.death = promise;
    this.#die = resolve;
    this.#inner = inner;
    this.#isDeadly = isDeadly;
    const own: Partial<RecordStore> = {
      transact: (scope, request, decide) => this.#transact(scope, request, decide),
      claim: (scope, collection, request, decide) => this.#claim(scope, collection, request, decide),
    };
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const member: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
        if (typeof member !== 'function') return member;
        if (!VERBS.has(String(name))) return member.bind(target) as unknown;
        return async (...given: unknown[]) => {
          const answer: unknown = this.#isDead ? await never() : await Reflect.apply(member, target, given);
          return this.#isDead ? never() : answer;
        };
      },
    });
  }

  #transact: RecordStore['transact'] = async (scope, request: TransactRequest, decide) => {
    let writes: readonly Write[] = [];
    const result = await this.#inner.transact(scope, request, (found) => {
      const decision = decide(found);
      ({ writes } = decision);
      return decision;
    });
    this.#committed(scope, writes);
    return result;
  };

  #claim: RecordStore['claim'] = async (scope, collection, request, decide) => {
    const offered = new Map<number, RecordData>();
    const won = await this.#inner.claim(scope, collection, request, (record, offer) => {
      const decision = decide(record, offer);
      if (decision !== null) offered.set(offer, decision.put);
      return decision;
    });
    const writes = [...offered.values()].map((put) => ({ put }));
    if (won.length > 0) this.#committed(scope, writes);
    return won;
  };

  #committed(scope: Scope, writes: readonly Write[]): void {
    if (this.#isDead || writes.length === 0) return;
    this.#isDead = this.#isDeadly(nameOf(scope, writes));
    if (this.#isDead) this.#die();
  }
}
