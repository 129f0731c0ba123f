import type { SvcClient } from '../client.ts';
import { APIStatusError } from '../errors.ts';
import type {
  ExecutionExternalWorkerCompletionRequest,
  ExecutionExternalWorkerNextLeaseRequest,
} from '../generated/models.ts';
import { Attempt } from './attempt.ts';
import type { WorkerSettings } from './options.ts';

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
    const { handlers, leaseMs } = this.#settings;
    return { handlerIds: [...handlers.keys()], ttlSeconds: leaseMs / 1_000 };
  }

  /** Completes the run, and answers the next one if the service leased one. */
  async complete(
    request: ExecutionExternalWorkerCompletionRequest,
    leaseNext: ExecutionExternalWorkerNextLeaseRequest | null,
    options: CompleteOptions,
  ): Promise<Attempt | null> {
    const { client, connection, leaseMs } = this.#settings;
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
      if (error.status === 400) this.#isKnown = false;
      return null;
    }
  }
}

const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Whether the service itself refused what the request holds, not a proxy in front of it. */
export function isRefusedContent(error: unknown): error is APIStatusError {
  return error instanceof APIStatusError && error.problem !== null && contentStatuses.has(error.status);
}
