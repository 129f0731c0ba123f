import type { RetrievalProfileLexical } from '../../../contracts/generated/models.ts';
import type { HybridOptions } from './hybrid.ts';
import type { RerankOptions } from './rerank-options.ts';
import type { EmbeddingOptions } from './vector-fields.ts';

/** Members of a retrieval under one name, with their public description. */
export interface RetrievalProfile {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly searchMode: 'lexical' | 'hybrid';
  /** Whether the collections need vectors. */
  readonly requiresVector: boolean;
  readonly usesRerank: boolean;
  readonly recommendedFor: readonly string[];
  readonly cautions: readonly string[];
  readonly defaults: ProfileDefaults;
}

export interface ProfileDefaults {
  readonly searchMode: 'lexical' | 'hybrid';
  readonly embedding: EmbeddingOptions | null;
  readonly lexical: Partial<RetrievalProfileLexical>;
  readonly hybrid: HybridOptions | null;
  readonly rerank: ({ readonly enabled: true } & RerankOptions) | null;
  readonly limit: number;
  readonly includeTrace: true;
}

const prefixes = { prefixMatching: true, prefixMinChars: 3, scanLimit: 5_000, scoring: 'bm25' } as const;

const evidenceWords = {
  fields: [
    '/content/text',
    '/metadata/referenceId',
    '/metadata/page',
    '/metadata/title',
    '/metadata/source',
    '/id',
  ],
  fieldBoosts: { '/metadata/referenceId': 3, '/id': 1.5, '/metadata/page': 1.25, '/metadata/title': 1.15 },
  ...prefixes,
} as const;

const baselineWords = {
  fields: ['/content/text', '/metadata/title', '/metadata/source', '/id'],
  ...prefixes,
} as const;

const productWords = {
  fields: [
    '/content/title',
    '/content/bullets',
    '/content/description',
    '/content/text',
    '/metadata/keywords',
    '/metadata/brand',
    '/metadata/source',
    '/id',
  ],
  fieldBoosts: {
    '/metadata/keywords': 2,
    '/content/title': 1.5,
    '/content/bullets': 1.35,
    '/metadata/brand': 1.2,
  },
  ...prefixes,
} as const;

const contentEmbedding: EmbeddingOptions = { field: 'contentEmbedding', purpose: 'query' };

function hybrid(vectorWeight: number, lexicalWeight: number): HybridOptions {
  const candidates = { candidateMultiplier: 8, vectorCandidateLimit: null, lexicalCandidateLimit: null };
  return { vectorWeight, lexicalWeight, ...candidates, fusion: 'weighted', rrfK: 60 };
}

function reranked(
  candidateLimit: number,
  maxCandidateChars: number,
): { readonly enabled: true } & RerankOptions {
  return {
    enabled: true,
    provider: null,
    mode: 'advisory',
    candidateLimit,
    maxCandidateChars,
    contentField: null,
    rerankScoreWeight: 1,
    originalScoreWeight: 0,
    timeoutSeconds: null,
    maxOutputBytes: null,
    fallbackOnFailure: true,
  };
}

type Words = Pick<RetrievalProfile, 'id' | 'label' | 'description' | 'recommendedFor' | 'cautions'>;

function profile(
  words: Words,
  defaults: Partial<ProfileDefaults> & Pick<ProfileDefaults, 'lexical' | 'limit'>,
): RetrievalProfile {
  const searchMode = defaults.searchMode ?? 'lexical';
  return {
    ...words,
    searchMode,
    requiresVector: searchMode === 'hybrid',
    usesRerank: (defaults.rerank ?? null) !== null,
    defaults: { embedding: null, hybrid: null, rerank: null, ...defaults, searchMode, includeTrace: true },
  };
}

const vectorLength = 'Their length must be that of the vectors of the embedding provider.';

/** The profiles of the service, in the order in which they are listed. */
export const builtInProfiles: readonly RetrievalProfile[] = [
  profile(
    {
      id: 'evidence',
      label: 'Evidence lookup',
      description:
        'Finds passages by their words, and by the reference, page and title that their metadata names.',
      recommendedFor: ['Citations', 'Lookups of references and ids'],
      cautions: ['Finds no passage that shares no word with the query.'],
    },
    { lexical: evidenceWords, limit: 8 },
  ),
  profile(
    {
      id: 'ragBaseline',
      label: 'RAG baseline',
      description: 'Finds passages by their words, all fields alike: what other profiles are compared with.',
      recommendedFor: ['First version of a prompt with context', 'Baseline of a comparison'],
      cautions: ['Finds no passage that shares no word with the query.'],
    },
    { lexical: baselineWords, limit: 8 },
  ),
  profile(
    {
      id: 'rerankPolish',
      label: 'Rerank polish',
      description:
        'As evidence, and puts the best 8 results into a new order by their first 1,000 characters.',
      recommendedFor: ['Better order of few results at little cost'],
      cautions: ['Adds the time of the reranker to each call.'],
    },
    { lexical: evidenceWords, rerank: reranked(8, 1_000), limit: 8 },
  ),
  profile(
    {
      id: 'deepQuality',
      label: 'Deep quality',
      description: 'As evidence, and chooses the results among the best 40 by their first 2,000 characters.',
      recommendedFor: ['Few results that must be right'],
      cautions: ['Adds the time of the reranker to each call, for more text than rerankPolish.'],
    },
    { lexical: evidenceWords, rerank: reranked(40, 2_000), limit: 8 },
  ),
  profile(
    {
      id: 'discovery',
      label: 'Semantic discovery',
      description:
        'Finds passages by their words and by likeness of their vectors, so that a passage needs no word of the query.',
      recommendedFor: ['Questions in words other than those of the passages'],
      cautions: [`The collections need the vector contentEmbedding. ${vectorLength}`],
    },
    {
      searchMode: 'hybrid',
      embedding: contentEmbedding,
      lexical: baselineWords,
      hybrid: hybrid(0.35, 0.65),
      limit: 10,
    },
  ),
  profile(
    {
      id: 'productOptimization',
      label: 'Product optimization',
      description:
        'Finds products by their words and by likeness of meaning; keywords, titles and brands count more.',
      recommendedFor: ['Product catalogues'],
      cautions: [`The collections need a vector: their first one is compared. ${vectorLength}`],
    },
    { searchMode: 'hybrid', lexical: productWords, hybrid: hybrid(0.45, 0.55), limit: 12 },
  ),
];
