import type { Settings } from '../config/table.ts';
import { builtInEmbedder } from '../embeddings/built-in.ts';
import type { EmbeddingParts } from '../embeddings/embed-texts.ts';
import { WorkLine } from '../embeddings/work-line.ts';
import { embeddingProvidersOf } from './embedding-providers.ts';
import type { GroupParts } from './group.ts';

/** The calls of all groups of the process share its processor. */
const line = new WorkLine();

/** The store of the process and the model that its settings name. */
export function embeddingPartsOf({
  settings,
  store,
  world,
}: Pick<GroupParts, 'settings' | 'store' | 'world'>): EmbeddingParts {
  return { store: store.get, embedder: activeEmbedder(settings, world) };
}

function activeEmbedder(settings: Settings, { clock }: GroupParts['world']) {
  const { provider, dimensions } = embeddingProvidersOf(settings).active;
  const embedder = builtInEmbedder(provider, dimensions, { clock, line });
  if (embedder === null) throw new Error(`no embedder is ${provider}`);
  return embedder;
}
