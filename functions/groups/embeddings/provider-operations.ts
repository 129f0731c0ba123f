import type { EmbeddingProviders } from '../../embeddings/provider.ts';
import { descriptorsOf, guidanceOf } from '../../embeddings/rules/descriptions.ts';
import { examine } from '../../embeddings/rules/doctor.ts';
import type { GroupHandlers } from '../../http/handler.ts';

type Handlers = GroupHandlers<'embeddings'>;

export function listEmbeddingProviders(providers: EmbeddingProviders): Handlers['listEmbeddingProviders'] {
  return async () => ({ status: 200, body: descriptorsOf(providers) });
}

export function listEmbeddingProviderGuidance(
  providers: EmbeddingProviders,
): Handlers['listEmbeddingProviderGuidance'] {
  return async () => ({ status: 200, body: guidanceOf(providers) });
}

/** Calls no provider, because callers may ask often and each call of a paid provider costs. */
export function getEmbeddingProviderDoctor({
  active,
}: EmbeddingProviders): Handlers['getEmbeddingProviderDoctor'] {
  return async (_, { now }) => {
    const { metadata, ...result } = examine(active, now);
    const { configHash } = active;
    return { status: 200, body: { ...result, metadata: { ...metadata, configHash } } };
  };
}
