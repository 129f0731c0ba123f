import type {
  EmbeddingProviderDescriptor,
  EmbeddingProviderGuidance,
} from '../../../contracts/generated/models.ts';
import type { EmbeddingProvider, EmbeddingProviders } from '../provider.ts';

/** The descriptions of the providers for callers. */
export function descriptorsOf({ all, active }: EmbeddingProviders): EmbeddingProviderDescriptor[] {
  return all.map((each) => descriptorOf(each, each.provider === active.provider));
}

function descriptorOf(each: EmbeddingProvider, active: boolean): EmbeddingProviderDescriptor {
  const { provider, displayName, description, modelId, dimensions, prefixes, isLocal } = each;
  return {
    provider,
    displayName,
    description,
    defaultModelId: modelId,
    defaultDimensions: dimensions,
    local: isLocal,
    cpuOnly: isLocal,
    requiresNetwork: !isLocal,
    semanticQuality: each.semanticQuality,
    defaultQueryPrefix: prefixes.query,
    defaultPassagePrefix: prefixes.passage,
    defaultSymmetricPrefix: prefixes.symmetric,
    active,
    enabled: each.disabledReason === null,
    disabledReason: each.disabledReason,
  };
}

export function guidanceOf({ all }: EmbeddingProviders): EmbeddingProviderGuidance[] {
  return all.map(({ provider, displayName, semanticQuality, dimensions, prefixes, guidance, ...each }) => ({
    provider,
    displayName,
    semanticQuality,
    defaultDimensions: dimensions,
    hardwareProfile: hardwareOf(each),
    requiresModelFiles: false,
    realisticForSemanticRetrieval: isRealistic(semanticQuality),
    defaultQueryPrefix: prefixes.query,
    defaultPassagePrefix: prefixes.passage,
    recommendedFor: [...guidance.recommendedFor],
    cautions: [...guidance.cautions],
    suggestedRetrievalProfiles: [...guidance.retrievalProfiles],
    suggestedEvaluationVariants: [...guidance.evaluationVariants],
    selectionNotes: [...guidance.selectionNotes],
  }));
}

export function hardwareOf({ isLocal }: Pick<EmbeddingProvider, 'isLocal'>): string {
  return isLocal ? 'cpu-only' : 'remote';
}

/** Whether search results with such vectors allow conclusions about those of a real model. */
export function isRealistic(quality: EmbeddingProvider['semanticQuality']): boolean {
  return quality === 'semantic';
}
