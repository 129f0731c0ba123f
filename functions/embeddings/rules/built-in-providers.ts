import { sha256 } from '../../kernel/canonical-json.ts';
import type { EmbeddingProvider } from '../provider.ts';

/** The version of the implementations in this service. */
const VERSION = '0.1';

const COMMON = {
  prefixes: { query: null, passage: null, symmetric: null },
  isLocal: true,
  disabledReason: null,
} as const;

/** The models of the service itself. */
export const builtInProviders: readonly EmbeddingProvider[] = (
  [
    {
      ...COMMON,
      provider: 'deterministic-hash',
      displayName: 'Deterministic hash',
      description: 'The hash of the whole text as a vector: equal texts are near, all others are anywhere.',
      modelId: 'deterministic-hash-embedding-v1',
      dimensions: 64,
      semanticQuality: 'mechanical',
      guidance: {
        recommendedFor: ['Tests of programs that store and compare vectors'],
        cautions: ['Two texts that differ in one character have nothing in common.'],
        retrievalProfiles: [],
        evaluationVariants: ['mechanical'],
        selectionNotes: ['Choose it where a test needs vectors that never change and means nothing by them.'],
      },
    },
    {
      ...COMMON,
      provider: 'local-token-hash',
      displayName: 'Token hash',
      description: 'Hashes of the words of a text, their runs of three characters and pairs of neighbours.',
      modelId: 'local-token-hash-embedding-v1',
      dimensions: 384,
      semanticQuality: 'lexical',
      guidance: {
        recommendedFor: [
          'Texts that share words, names and numbers',
          'Development and tests without a network',
        ],
        cautions: ['Texts of like meaning in other words are far apart.'],
        retrievalProfiles: ['evidence', 'ragBaseline'],
        evaluationVariants: ['lexical'],
        selectionNotes: ['Needs no network and costs nothing. A search by words finds the same and more.'],
      },
    },
  ] as const
).map((each) => ({ ...each, configHash: sha256(`${each.provider}|${VERSION}`) }));
