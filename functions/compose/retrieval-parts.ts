import { isPassing, ProviderFailure } from '../providers/failure.ts';
import { type Rerank, type RerankResult, rerankWith } from '../providers/rerank.ts';
import { modePolicyOf } from '../providers/rules/modes.ts';
import type { RetrievalParts } from '../retrieval/parts.ts';
import { LOCAL_RERANKER, localReranker, type Reranker, type Rerankers } from '../retrieval/reranker.ts';
import { newTraceId } from '../traces/write-trace.ts';
import { embeddingPartsOf } from './embedding-parts.ts';
import { type LayerParts, layer } from './layer.ts';
import { capabilityPartsOf, providerRegistryOf } from './provider-parts.ts';
import { recordPartsOf } from './record-parts.ts';
import { tracePartsOf } from './trace-parts.ts';

/** The dependencies of retrievals, in every process of a deployment. */
export const retrievalPartsOf = layer(
  (parts): RetrievalParts => ({
    records: recordPartsOf(parts),
    embeddings: embeddingPartsOf(parts),
    traces: tracePartsOf(parts),
    rerankers: rerankersOf(parts),
  }),
);

/** The reranker of the service itself, and the providers of the settings that rank texts. */
function rerankersOf(parts: LayerParts): Rerankers {
  const { random, turns } = parts.world;
  const registry = providerRegistryOf(parts);
  const capabilities = capabilityPartsOf(parts);
  const local = localReranker(turns);
  return {
    find(id) {
      if (id === null || id === LOCAL_RERANKER) return local;
      const provider = registry.find(id);
      if (provider === undefined || !provider.target.capabilities.includes('ai.rerank')) return null;
      const { isLocal } = provider.target;
      const rerank = rerankWith(capabilities, provider, () => newTraceId(random));
      return providerReranker(id, isLocal, rerank);
    },
  };
}

function providerReranker(provider: string, isLocal: boolean, rerank: Rerank): Reranker {
  return {
    provider,
    inputBytesMax: (mode) => modePolicyOf(mode, isLocal)?.maxInputBytes ?? null,
    async rerank(payload, { space, correlationId, signal, ...bounds }) {
      const call = { space, correlationId: correlationId ?? provider, signal };
      const { traceId, items, failure } = await rerank({ ...payload, ...bounds }, call);
      if (failure === null) return { traceId, items };
      const { failureClass, providerStatus } = failure;
      const answer = { traceId, failure: { failureClass: failureClass ?? 'unknown', providerStatus } };
      const passing = passingOf(failure);
      return passing === null ? answer : { ...answer, passing };
    },
  };
}

/** The failure to throw if it is temporary or a limit of the service; `null` for every other. */
function passingOf(failure: NonNullable<RerankResult['failure']>): ProviderFailure | null {
  const { failureClass, providerStatus, retryAfterMs, isOfGuard } = failure;
  if (failureClass === null || failureClass === 'tool' || failureClass === 'trust') return null;
  if (!isOfGuard && !isPassing({ failureClass })) return null;
  const message = failure.message ?? 'The provider gave no order.';
  return new ProviderFailure(failureClass, providerStatus, message, {
    isRetryable: true,
    retryAfterMs,
    isOfGuard,
  });
}
