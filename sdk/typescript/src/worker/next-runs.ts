import type { SvcClient } from '../client.ts';
import type {
  ExecutionExternalWorkerCompletionRequest,
  ExecutionExternalWorkerNextLeaseRequest,
} from '../generated/models.ts';
import { Attempt } from './attempt.ts';
import type { WorkerSettings } from './options.ts';
import { isRefusedContent } from './repeat.ts';

type CompleteOptions = NonNullable<Parameters<SvcClient['completeExternalExecutionLease']>[1]>;

/** Completes runs, and asks for the next run in the same request. */
export class NextRuns {
  readonly #settings: WorkerSettings;
  readonly #stopping: AbortSignal;
  /** A server of release 0.5.0 refuses the request for a next run. */
  #isKnown = true;

  constructor(settings: WorkerSettings, stopping: AbortSignal) {
    this.#settings = settings;
    this.#stopping = stopping;
  }

  /** The request for the next run; `null` if the worker takes none. */
  wish(): ExecutionExternalWorkerNextLeaseRequest | null {
    if (!this.#isKnown || this.#stopping.aborted) return null;
    const { handlers, leaseMs, newer } = this.#settings;
    return { handlerIds: [...handlers.keys()], ttlSeconds: leaseMs / 1_000, ...newer.known };
  }

  /** Completes the run, and answers the next one if the service leased one. */
  async complete(
    request: ExecutionExternalWorkerCompletionRequest,
    leaseNext: ExecutionExternalWorkerNextLeaseRequest | null,
    options: CompleteOptions,
  ): Promise<Attempt | null> {
    const { client, connection, leaseMs, newer } = this.#settings;
    const sentAt = connection.world.now();
    if (leaseNext === null) {
      await client.completeExternalExecutionLease(request, options);
      return null;
    }
    try {
      const { next } = await client.completeExternalExecutionLease({ ...request, leaseNext }, options);
      return next === undefined ? null : new Attempt(next, this.#settings, sentAt + leaseMs);
    } catch (error) {
      if (!isRefusedContent(error)) throw error;
      await client.completeExternalExecutionLease(request, options);
      // The same completion is taken without the request for a next run, so a member is not known.
      if (error.status === 400 && !newer.refused()) this.#isKnown = false;
      return null;
    }
  }
}
