import type { ProviderDoctorCheck, ProviderDoctorResult } from '../../../contracts/generated/models.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { EmbeddingProvider } from '../provider.ts';
import { hardwareOf, isRealistic } from './descriptions.ts';

/** The state of the active provider, from the settings alone. `now`: milliseconds since 1970. */
export function examine(provider: EmbeddingProvider, now: number): ProviderDoctorResult {
  const checks = checksOf(provider);
  const { modelId, dimensions, semanticQuality } = provider;
  const warnings = checks.filter(({ status }) => status === 'warning').length;
  return {
    provider: provider.provider,
    status: warnings > 0 ? 'warning' : 'ok',
    summary: warnings > 0 ? 'The provider can be used, with a warning.' : 'The provider can be used.',
    generatedAt: formatUtc(now),
    checks: [...checks],
    metadata: { modelId, dimensions, semanticQuality },
  };
}

/** The same checks as those of readiness. */
export function checksOf(provider: EmbeddingProvider): readonly ProviderDoctorCheck[] {
  const { modelId, dimensions, isLocal, semanticQuality } = provider;
  const hardwareProfile = hardwareOf(provider);
  const realisticForSemanticRetrieval = isRealistic(semanticQuality);
  return [
    {
      id: 'embedding.provider',
      status: 'ok',
      message: `Embeddings are made by ${provider.provider}.`,
      details: { provider: provider.provider, modelId },
    },
    {
      id: 'embedding.dimensions',
      status: 'ok',
      message: `Embedding provider returns ${dimensions} dimensions.`,
      details: { dimensions },
    },
    {
      id: 'embedding.model_files',
      status: 'ok',
      message: 'The embedding provider needs no files of a model.',
      details: { requiresModelFiles: false },
    },
    {
      id: 'embedding.runtime',
      status: 'ok',
      message: isLocal
        ? 'Embeddings are made in the process of the service.'
        : 'Embeddings are made over the network.',
      details: { local: isLocal, hardwareProfile },
    },
    {
      id: 'embedding.quality',
      status: semanticQuality === 'mechanical' ? 'warning' : 'ok',
      message: qualityMessages[semanticQuality],
      details: { semanticQuality, realisticForSemanticRetrieval, hardwareProfile },
    },
  ];
}

const qualityMessages: Readonly<Record<EmbeddingProvider['semanticQuality'], string>> = {
  mechanical: 'Vectors tell equal texts from others and say nothing about meaning.',
  lexical: 'Vectors compare words, not meaning.',
  semantic: 'Vectors compare meaning, as far as the model goes.',
};
