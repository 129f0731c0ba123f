import type { EmbeddingPrefixes } from './embedder.ts';

/** What nearness of two vectors means: equality of the texts, common words, or like meaning as far as the model goes. */
type SemanticQuality = 'mechanical' | 'lexical' | 'semantic';

/** A provider of embeddings with what users are told of it. Nothing here is secret. */
export interface EmbeddingProvider {
  /** Its id. */
  readonly provider: string;
  readonly displayName: string;
  readonly description: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
  readonly semanticQuality: SemanticQuality;
  /** Whether it is part of the service; each call of another goes over the network. */
  readonly isLocal: boolean;
  /** A word, such as `provider_disabled_by_configuration`; `null` where the service may call it. */
  readonly disabledReason: string | null;
  readonly guidance: ProviderGuidance;
  /** Names its configuration; for callers with a right alone, since an address can be guessed from it. */
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
  /** The one that serves requests. */
  readonly active: EmbeddingProvider;
}
