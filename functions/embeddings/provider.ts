import type { EmbeddingPrefixes } from './embedder.ts';

/** The meaning of near vectors: equal texts, common words, or a similar meaning by the judgement of the model. */
type SemanticQuality = 'mechanical' | 'lexical' | 'semantic';

/** A provider of embeddings with its public description. It holds no secret. */
export interface EmbeddingProvider {
  /** The id of the provider. */
  readonly provider: string;
  readonly displayName: string;
  readonly description: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
  readonly semanticQuality: SemanticQuality;
  /** Whether the provider is part of the service; calls of other providers use the network. */
  readonly isLocal: boolean;
  /** Why the service must not call the provider, such as `provider_disabled_by_configuration`; `null` if it may. */
  readonly disabledReason: string | null;
  readonly guidance: ProviderGuidance;
  /** The hash of the configuration; only for callers with a right, because an address can be guessed from it. */
  readonly configHash: string;
}

interface ProviderGuidance {
  readonly recommendedFor: readonly string[];
  readonly cautions: readonly string[];
  readonly retrievalProfiles: readonly string[];
  readonly evaluationVariants: readonly string[];
  readonly selectionNotes: readonly string[];
}

/** The providers of one process. */
export interface EmbeddingProviders {
  /** In the order of their ids. */
  readonly all: readonly EmbeddingProvider[];
  /** The provider that serves requests. */
  readonly active: EmbeddingProvider;
}
