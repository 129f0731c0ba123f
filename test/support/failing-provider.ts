import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import type { RegisteredProvider } from '../../functions/providers/registered.ts';
import type { Stage } from '../conformance/execution-stage.ts';
import { PaidChat } from './providers-stage.ts';

/** A paid provider that fails when a test requests it. It counts its requests and its answers. */
export class FailingProvider {
  /** The failure of a call at a moment; `null`: it is answered. */
  failure: (now: number) => ProviderFailure | null = () => null;
  /** The moments of the calls that failed. */
  readonly failed: number[] = [];
  /** How often each text was paid for. */
  readonly paid = new Map<string, number>();
  readonly #now: () => number;

  constructor({ time }: Stage) {
    this.#now = () => time.now;
  }

  get answered(): number {
    return [...this.paid.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Vectors of one text a call. */
  embedder(dimensions: number, id = 'deterministic-hash'): Embedder {
    const inner = builtInEmbedder(id, dimensions);
    if (inner === null) throw new Error('the model is part of the service');
    return {
      ...inner,
      isPaid: true,
      batch: { ...inner.batch, textsMax: 1 },
      embed: async (texts, call) => {
        this.#take(texts);
        return await inner.embed(texts, call);
      },
    };
  }

  /** A chat model, without limits of its own. */
  chat(stage: Stage): RegisteredProvider {
    const { target, live } = new PaidChat().provider(stage);
    if (live === null) throw new Error('a paid model is live');
    const usage = { inputTokens: 1, outputTokens: 1, isReported: true };
    const complete = async () => {
      this.#take(['a chat']);
      return await Promise.resolve({ value: { text: 'Hi', isWhole: true }, usage, secret: null });
    };
    return { target, live: { ...live, model: { complete } } };
  }

  #take(texts: readonly string[]): void {
    const now = this.#now();
    const failure = this.failure(now);
    if (failure !== null) {
      this.failed.push(now);
      throw failure;
    }
    for (const text of texts) this.paid.set(text, (this.paid.get(text) ?? 0) + 1);
  }
}

/** The failures that pass, by how a provider or the way to it fails. */
export const PASSING: Readonly<Record<string, ProviderFailure>> = {
  'status 408': new ProviderFailure('timeout', 'http_408', 'late', { isRetryable: true }),
  'status 429': new ProviderFailure('rate_limit', 'http_429', 'busy', { isRetryable: true }),
  'status 503': new ProviderFailure('provider_unavailable', 'http_503', 'away', { isRetryable: true }),
  'no connection': new ProviderFailure('network', 'connection_failed', 'broken', { isRetryable: true }),
  'an open circuit': new ProviderFailure('provider_unavailable', 'circuit_open', 'left alone', {
    isRetryable: true,
    retryAfterMs: 30_000,
  }),
};
