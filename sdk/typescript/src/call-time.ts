import { APIAbortError, APITimeoutError, type SvcError } from './errors.ts';
import { methodOf, type OperationName } from './operation.ts';

/** One signal for the caller's abort and the timeout of the call. */
export class CallTime {
  readonly signal: AbortSignal;
  readonly #operation: OperationName;
  readonly #caller: AbortSignal | undefined;
  readonly #own = new AbortController();

  constructor(operation: OperationName, caller: AbortSignal | undefined) {
    this.#operation = operation;
    this.#caller = caller;
    this.signal = caller === undefined ? this.#own.signal : AbortSignal.any([caller, this.#own.signal]);
  }

  end(): void {
    this.#own.abort();
  }

  /** Throws if the call is aborted or out of time. */
  check(): void {
    if (this.signal.aborted) throw this.#error();
  }

  /** Rejects when the time is over, even if the work ignores the signal. */
  bound<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(this.#error());
      this.signal.addEventListener('abort', ended);
      if (this.signal.aborted) ended();
      const settled = () => this.signal.removeEventListener('abort', ended);
      work
        .then(resolve, (error: unknown) => reject(this.signal.aborted ? this.#error() : error))
        .then(settled, settled);
    });
  }

  /** The error anew where the call awaits it: that of a timer has no trace to the caller. */
  traced(error: unknown): unknown {
    return error instanceof APITimeoutError || error instanceof APIAbortError ? this.#error() : error;
  }

  #error(): SvcError {
    const name = methodOf(this.#operation);
    const operation = this.#operation.id;
    if (this.#own.signal.aborted)
      return new APITimeoutError(`${name} did not succeed in time.`, { operation });
    return new APIAbortError(`${name} was aborted.`, { operation, cause: this.#caller?.reason });
  }
}
