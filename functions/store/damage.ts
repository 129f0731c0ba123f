import { legible } from '../kernel/legible.ts';
import type { Log } from '../kernel/log.ts';
import { type RecordStore, StoreError } from './port.ts';

/**
 * Records whether this process has read damaged data. The state stays until an operator repairs the data and restarts
 * the process.
 */
export class DamageLog {
  readonly #log: Log;
  #met: string | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The first damage met, or `null`. */
  get met(): string | null {
    return this.#met;
  }

  /** Receives a failure of a read, a write or of upkeep. */
  readonly saw = (error: unknown): void => {
    const met = this.#met === null && legible(() => isDamage(error), false);
    if (!met) return;
    this.#met = (error as StoreError).message;
    const message =
      'stored data is damaged: the service is not ready until it was looked at and started anew';
    this.#log({ severity: 'ERROR', message, failure: this.#met });
  };

  /** Wraps a store and records its failures. */
  watching(store: RecordStore): RecordStore {
    const { saw } = this;
    const transact = store.transact.bind(store);
    const snapshot = store.snapshot.bind(store);
    const claim = store.claim.bind(store);
    const query = store.query.bind(store) as (...given: readonly unknown[]) => Promise<never>;
    const seen = <R>(answer: Promise<R>): Promise<R> => {
      answer.catch(saw);
      return answer;
    };
    store.transact = (...given) => seen(transact(...given));
    store.snapshot = (...given) => seen(snapshot(...given));
    store.claim = (...given) => seen(claim(...given));
    const due = store.due.bind(store);
    const scan = store.scan.bind(store);
    store.due = (...given) => seen(due(...given));
    store.scan = (...given) => seenAll(scan(...given), saw);
    store.query = (...given: readonly unknown[]) => seen(query(...given));
    return store;
  }
}

/** Whether the failure reports that stored data differs from the written data. */
export function isDamage(error: unknown): boolean {
  return error instanceof StoreError && error.failure === 'corrupt';
}

async function* seenAll<T>(pages: AsyncIterable<T>, saw: (error: unknown) => void): AsyncGenerator<T> {
  try {
    yield* pages;
  } catch (error) {
    saw(error);
    throw error;
  }
}
