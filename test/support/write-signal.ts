import type { RecordStore } from '../../functions/store/port.ts';

/** Says when a service has written, which may be the end of a job. A loop that asks for the end takes the processor from the job. */
export class WriteSignal {
  #next = Promise.withResolvers<void>();

  /** Settles with the next transaction, also with one that fails. */
  get next(): Promise<void> {
    return this.#next.promise;
  }

  /** The same store, watched. */
  watch(store: RecordStore): RecordStore {
    const transact = store.transact.bind(store);
    store.transact = async (...given) => {
      try {
        return await transact(...given);
      } finally {
        this.#next.resolve();
        this.#next = Promise.withResolvers();
      }
    };
    return store;
  }
}
