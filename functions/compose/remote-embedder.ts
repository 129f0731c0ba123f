import type { ProviderSetting } from '../config/settings/providers.ts';
import type { Embedder } from '../embeddings/embedder.ts';
import { openAiEmbedder } from '../embeddings/openai-embedder.ts';
import type { EmbeddingProvider } from '../embeddings/provider.ts';
import { vertexEmbedder } from '../embeddings/vertex-embedder.ts';
import type { Outgoing } from './outgoing.ts';

const TIMEOUT_SECONDS_DEFAULT = 60;

/** A model over the network. The rules of the configuration have refused entries that lack a member, and those that may not be called. */
export function remoteEmbedder(
  entry: Partial<ProviderSetting>,
  named: Pick<EmbeddingProvider, 'provider' | 'modelId' | 'dimensions' | 'prefixes'>,
  { world, apiKey, credentials }: Outgoing,
): Embedder {
  const { provider, modelId, dimensions, prefixes } = named;
  const timeoutMs = (entry.TimeoutSeconds ?? TIMEOUT_SECONDS_DEFAULT) * 1_000;
  const options = { provider, modelId, dimensions, prefixes, timeoutMs };
  const { BaseAddress: baseAddress = '', ProjectId: project = '', LocationId: location = '' } = entry;
  if (entry.Kind === 'vertex') return vertexEmbedder(world, { ...options, project, location, credentials });
  const { SendsDimensions: sendsDimensions = false } = entry;
  return openAiEmbedder(world, { ...options, baseAddress, sendsDimensions, apiKey });
}
