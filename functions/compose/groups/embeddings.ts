import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 100_000,
  async collections() {
    const { EMBEDDINGS } = await import('../../embeddings/store-collections.ts');
    const { PROVIDER_GUARDS } = await import('../../providers/provider-guard.ts');
    return [EMBEDDINGS, PROVIDER_GUARDS];
  },
  async load(parts) {
    const [{ embeddingsHandlers }, { embeddingPartsOf }, { embeddingProvidersOf }] = await Promise.all([
      import('../../groups/embeddings/handlers.ts'),
      import('../embedding-parts.ts'),
      import('../embedding-providers.ts'),
    ]);
    const own = {
      providers: embeddingProvidersOf(parts.settings),
      embeddings: embeddingPartsOf(parts),
      access: recordAccessOf(parts.settings),
    };
    return { handlers: embeddingsHandlers(own), extra: [] };
  },
};
