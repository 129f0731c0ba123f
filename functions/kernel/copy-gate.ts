import { ServiceError } from './errors.ts';

/** A copy takes several times its size in memory, so few run at once and few wait. */
const AT_ONCE = 2;
const WAITING_MAX = 16;
/** The bounds for one tenant, so that other tenants find room. */
const AT_ONCE_OF_TENANT = 1;
const WAITING_OF_TENANT_MAX = 9;
const RETRY_AFTER_SECONDS = 5;

interface Waiting {
  readonly tenantId: string;
  readonly enter: () => void;
}

/**
 * Limits the calls over a whole tenant, space or graph that work at once in one instance. Those of one tenant run one by one, in the
 * order of their arrival.
 */
export class CopyGate {
  #waiting: readonly Waiting[] = [];
  /** The tenant of each running call. */
  readonly #running: string[] = [];

  /**
   * Throws `unavailable`, with no work done, if too many calls wait already, and the reason of `signal` if the caller disconnects.
   */
  async run<R>(tenantId: string, signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    if (this.#mayEnter(tenantId)) this.#running.push(tenantId);
    else await this.#turn(tenantId, signal);
    try {
      return await work();
    } finally {
      this.#running.splice(this.#running.indexOf(tenantId), 1);
      this.#letIn();
    }
  }

  #mayEnter(tenantId: string): boolean {
    const own = this.#running.filter((each) => each === tenantId);
    return this.#running.length < AT_ONCE && own.length < AT_ONCE_OF_TENANT;
  }

  #letIn(): void {
    for (const waiting of this.#waiting) {
      if (!this.#mayEnter(waiting.tenantId)) continue;
      this.#leave(waiting);
      this.#running.push(waiting.tenantId);
      waiting.enter();
    }
  }

  #leave(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  #turn(tenantId: string, signal: AbortSignal): Promise<void> {
    const own = this.#waiting.filter((each) => each.tenantId === tenantId);
    if (this.#waiting.length >= WAITING_MAX || own.length >= WAITING_OF_TENANT_MAX) {
      throw new ServiceError(
        'unavailable',
        'Too many exports, restores and inspections are under way in this instance; nothing was done.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiting = { tenantId, enter };
      const leave = (): void => {
        this.#leave(waiting);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting = [...this.#waiting, waiting];
    });
  }
}
