import type { Log } from '../kernel/log.ts';
import { type RecordStore, StoreError } from './port.ts';

/** Whether this process has met stored data that is not what was written. It stays so until an operator has looked and started anew. */
export class DamageLog {
  readonly #log: Log;
  #met: string | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  /** What was met first; `null` for no damage. */
  get met(): string | null {
    return this.#met;
  }

  /** Looks at a failure of a read, a write or of upkeep. */
  readonly saw = (error: unknown): void => {
    if (this.#met !== null || !(error instanceof StoreError) || error.failure !== 'corrupt') return;
    this.#met = error.message;
    const message =
      'stored data is damaged: the service is not ready until it was looked at and started anew';
    this.#log({ severity: 'ERROR', message, failure: error.message });
  };

  /** The same store, which tells of its failures. */
  watching(store: RecordStore): RecordStore {
    const { saw } = this;
    const seen = <Given extends readonly unknown[], R>(call: (...given: Given) => Promise<R>) => {
      const bound = call.bind(store);
      return (...given: Given): Promise<R> => {
        const answer = bound(...given);
        answer.catch(saw);
        return answer;
      };
    };
    // Each keeps its type: `seen` answers what the call answers.
    store.transact = seen(store.transact) as RecordStore['transact'];
    store.snapshot = seen(store.snapshot) as RecordStore['snapshot'];
    store.claim = seen(store.claim) as RecordStore['claim'];
    store.query = seen(
      store.query as (...given: readonly unknown[]) => Promise<unknown>,
    ) as RecordStore['query'];
    return store;
  }
}
