import type { Handler, OperationInput } from '../../functions/http/handler.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { type Call, duringCall, type Operation, type Outcome } from '../simulation/canonical-calls.ts';
import { callAt, handlersOver } from '../support/canonical.ts';
import { readAnswer } from '../support/written-answer.ts';

/** One request, with the time that its instance uses as now. */
export type Request<Id extends Operation = Operation> = Pick<
  Call<Id>,
  'operation' | 'params' | 'body' | 'now'
>;

/** One of several that share nothing but the database. */
export interface Instance {
  /** Whether it takes calls; a killed one does not, until it has started again. */
  readonly ready: boolean;
  /** Resolves when it takes calls, also after a kill. */
  readonly started: Promise<void>;
  call<Id extends Operation>(request: Request<Id>): Promise<Outcome<Id>>;
  /** Kills it and starts it again. Its running calls get no answer. */
  kill(): void;
  close(): Promise<void>;
}

/** Inside this process, over a store of its own. Nothing that happens here can be lost half-way. */
export class LocalInstance implements Instance {
  readonly ready = true;
  readonly started = Promise.resolve();
  readonly #store: RecordStore;
  readonly #handlers: ReturnType<typeof handlersOver>;
  readonly #way: () => Promise<void>;
  #calls = 0;

  /** `way` delays the arrival of a request: without it, the request arrives at once. */
  constructor(store: RecordStore, way: () => Promise<void> = () => Promise.resolve()) {
    this.#store = store;
    this.#way = way;
    // The operations ask the clock for nothing but waits, and none of these calls waits.
    this.#handlers = handlersOver(store, { now: 0 });
  }

  async call<Id extends Operation>(request: Request<Id>): Promise<Outcome<Id>> {
    const { operation, params, body, now } = request;
    await this.#way();
    const handler = this.#handlers[operation] as unknown as Handler<Id>;
    const call: Call<Id> = { ...request, number: ++this.#calls, instance: 'local', verdict: undefined };
    try {
      const response = await duringCall(call, () =>
        handler({ params, query: {}, body } as unknown as OperationInput<Id>, callAt(now)),
      );
      return {
        kind: 'answer',
        body: readAnswer(response.body) as Extract<Outcome<Id>, { kind: 'answer' }>['body'],
      };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  kill(): void {
    throw new Error('it would take the test with it');
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function outcomeOf(error: unknown): Exclude<Outcome, { kind: 'answer' }> {
  if (error instanceof ServiceError) return { kind: 'refused', error };
  if (!(error instanceof StoreError) || error.failure === 'corrupt') throw error;
  return { kind: error.failure === 'unavailable' ? 'unknown' : 'failed' };
}
