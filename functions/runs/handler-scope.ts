import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { legible } from '../kernel/legible.ts';
import { describeFailure } from '../kernel/log.ts';
import { isSuspension } from './plugin.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** The most log lines of one execution: a handler may reject promises without an end. */
const LINES_MAX = 5;

const OF_RUNNING = 'A handler left a rejected promise unhandled, so its run fails';
const OF_ENDED = 'A handler left a rejected promise unhandled; its run had ended or was interrupted';

/** Ends an attempt: the handler rejected a promise that nothing handles. */
class UnhandledRejection extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('A promise of the handler was rejected, and nothing handled it');
    this.reason = reason;
  }
}

export function isUnhandledRejection(error: unknown): error is UnhandledRejection {
  return legible(() => error instanceof UnhandledRejection, false);
}

/** The async context of one execution of a handler, by which an unhandled rejection of the handler finds its run. */
export class HandlerScope {
  readonly #run: Pick<Run, 'id' | 'handlerId'>;
  readonly #runtime: Pick<Runtime, 'world' | 'log'>;
  readonly #abort: AbortController;
  readonly #graceMs: number;
  readonly #overdue = Promise.withResolvers<never>();
  #fault: UnhandledRejection | null = null;
  #hasEnded = false;
  #disarm: (() => void) | null = null;
  #lines = 0;

  /** `graceMs`: how long the handler may ignore the abort of its signal. */
  constructor(
    run: Pick<Run, 'id' | 'handlerId'>,
    runtime: Pick<Runtime, 'world' | 'log'>,
    abort: AbortController,
    graceMs: number,
  ) {
    this.#run = run;
    this.#runtime = runtime;
    this.#abort = abort;
    this.#graceMs = graceMs;
  }

  /** Calls the handler. Throws `UnhandledRejection` once it has ended, or after the grace period. */
  async call<T>(handler: () => T | Promise<T>): Promise<T> {
    try {
      const result = await Promise.race([scopes.run(this, handler), this.#overdue.promise]);
      // Node reports rejections that a handler left at its very end after the microtasks of the turn.
      await nextTurn();
      if (this.#fault !== null) throw this.#fault;
      return result;
    } catch (error) {
      throw this.#fault === null || isSuspension(error) ? error : this.#fault;
    } finally {
      this.#hasEnded = true;
      this.#disarm?.();
    }
  }

  take(reason: unknown): void {
    const { id: runId, handlerId } = this.#run;
    const { world, log } = this.#runtime;
    // An aborted signal makes forgotten calls fail too: no fault of the handler.
    const fails = !this.#hasEnded && this.#fault === null && !this.#abort.signal.aborted;
    this.#lines += 1;
    if (this.#lines <= LINES_MAX) {
      const message = fails ? OF_RUNNING : OF_ENDED;
      log({ severity: 'ERROR', message, runId, handlerId, failure: describeFailure(reason) });
    }
    if (!fails) return;
    const fault = new UnhandledRejection(reason);
    this.#fault = fault;
    this.#disarm = world.timers.after(this.#graceMs, () => this.#overdue.reject(fault));
    this.#abort.abort(fault);
  }
}

const scopes = new AsyncLocalStorage<HandlerScope>();

/**
 * Assigns an unhandled rejection to the handler that caused it. Returns whether there is such a handler. Call it in the
 * listener of `unhandledRejection`: Node calls that in the async context of the promise.
 */
export function takeRejection(reason: unknown): boolean {
  const scope = scopes.getStore();
  scope?.take(reason);
  return scope !== undefined;
}
