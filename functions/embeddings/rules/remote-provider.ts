import type { EmbeddingProvider } from '../provider.ts';

/** A provider over the network, as the settings name it. */
export interface RemoteModel
  extends Pick<
    EmbeddingProvider,
    'provider' | 'displayName' | 'modelId' | 'dimensions' | 'prefixes' | 'configHash'
  > {
  readonly kind: 'openai' | 'vertex';
  /** Whether the settings let the service call providers over the network. */
  readonly isLive: boolean;
}

/** The public description. It has no address, because the address of a server inside a network is private. */
export function remoteProvider({ kind, isLive, ...named }: RemoteModel): EmbeddingProvider {
  return {
    ...named,
    description: descriptions[kind],
    semanticQuality: 'semantic',
    isLocal: false,
    disabledReason: isLive ? null : 'provider_disabled_by_configuration',
    guidance: {
      recommendedFor: ['Searches by meaning, also in other words than those of the texts'],
      cautions: [
        'Texts leave the service.',
        'Calls may cost money: vectors are kept, so that a text is paid for once in a space.',
      ],
      retrievalProfiles: ['discovery', 'productOptimization'],
      evaluationVariants: ['semantic'],
      selectionNotes: ['Compare it with a search by words on questions of your own before you choose it.'],
    },
  };
}

const descriptions = {
  openai: 'A model behind the embeddings operation of OpenAI, which many servers speak.',
  vertex: 'A text model of Google Vertex AI.',
} as const;
