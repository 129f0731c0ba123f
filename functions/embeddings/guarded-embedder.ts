import type { Clock } from '../kernel/world.ts';
import { type FailureClass, ProviderFailure } from '../providers/failure.ts';
import { enterCall, type GuardParts, leaveCall } from '../providers/provider-guard.ts';
import type { Embedder } from './embedder.ts';
import { tokensOf } from './rules/batches.ts';

/** The embedder within limits that all instances of the service share. */
export function guardedEmbedder(embedder: Embedder, guard: GuardParts, clock: Clock): Embedder {
  // Vectors that were paid for, and what the provider did, matter more than a store that cannot be told of them.
  const tell = (failure: FailureClass | null) =>
    leaveCall(guard, failure, clock.now()).catch(() => undefined);
  return {
    ...embedder,
    async embed(texts, call) {
      const isNews = await enterCall(guard, tokensOf(texts), clock.now());
      try {
        const vectors = await embedder.embed(texts, call);
        if (isNews) await tell(null);
        return vectors;
      } catch (error) {
        if (error instanceof ProviderFailure) await tell(error.failureClass);
        throw error;
      }
    },
  };
}
