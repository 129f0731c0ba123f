import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import type { RetrievalRequest } from './asked.ts';
import { candidateLimits } from './candidate-limits.ts';
import { readRetrieval } from './request.ts';

const read = (request: Partial<RetrievalRequest>) =>
  readRetrieval({ query: 'annual report', collections: ['articles'], ...request }, 5_000);

function refusal(request: Partial<RetrievalRequest>) {
  try {
    read(request);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.code, error.extensions.errors?.[0]?.pointer];
  }
}

const names = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);
const invalid = 'validation_failed';
const exceeded = 'limit_exceeded';

describe('a retrieval', () => {
  test('has the defaults of the contract', () => {
    expect(read({})).toMatchObject({
      mode: 'lexical',
      vectors: [],
      limit: 10,
      rerank: null,
      includeTrace: false,
    });
    expect(read({}).lexical).toEqual({ query: 'annual report' });
    expect(read({ searchMode: 'hybrid' }).hybrid).toEqual({
      vectorWeight: 0.55,
      lexicalWeight: 0.45,
      candidateMultiplier: 8,
      vectorCandidateLimit: null,
      lexicalCandidateLimit: null,
      fusion: 'weighted',
      rrfK: 60,
    });
    expect(read({ rerank: { enabled: true } }).rerank).toMatchObject({
      mode: 'advisory',
      maxCandidateChars: 2_000,
      rerankScoreWeight: 1,
      originalScoreWeight: 0,
      fallbackOnFailure: true,
    });
  });

  test.each<[string, Partial<RetrievalRequest>, string]>([
    ['words', {}, 'lexical'],
    ['an embedding', { embedding: {} }, 'vector'],
    ['a vector', { vectorFields: [{ field: 'v' }] }, 'vector'],
    ['an empty list of vectors', { vectorFields: [] }, 'lexical'],
    ['a blank mode and an embedding', { searchMode: ' ', embedding: {} }, 'vector'],
    ['a mode in any case', { searchMode: ' HYBRID ' }, 'hybrid'],
  ])('with %s has its mode', (_, request, mode) => {
    expect(read(request).mode).toBe(mode);
  });

  test('takes a list of words only if it has words of its own', () => {
    expect(read({ lexical: { query: ' ' } }).lexical?.query).toBe('annual report');
    expect(read({ lexical: { query: 'climate' } }).lexical?.query).toBe('climate');
  });

  test('is reranked only if it enables reranking', () => {
    expect(read({ rerank: {} }).rerank).toBeNull();
    expect(read({ rerank: { enabled: false, candidateLimit: 3 } }).rerank).toBeNull();
  });

  test('has each collection once', () => {
    expect(read({ collections: ['b', 'a', 'b'] }).collections).toEqual(['b', 'a']);
  });

  test.each<[string, Partial<RetrievalRequest>, unknown]>([
    ['a blank query', { query: ' \n' }, [invalid, '/query']],
    ['a lone surrogate', { query: '\ud800' }, [invalid, '/query']],
    ['a query too long for words', { query: 'ab '.repeat(6_000) }, [exceeded, '/query']],
    ['no collection', { collections: [] }, [invalid, '/collections']],
    ['16 collections', { collections: names(16) }, null],
    ['17 collections', { collections: names(17) }, [exceeded, '/collections']],
    ['a name that none has', { collections: ['a', '../b'] }, [invalid, '/collections/1']],
    ['no limit', { limit: 0 }, [invalid, '/limit']],
    ['half a limit', { limit: 1.5 }, [invalid, '/limit']],
    ['a huge limit', { limit: 1e9 }, [exceeded, '/limit']],
    ['an unknown mode', { searchMode: 'magic' }, [invalid, '/searchMode']],
    ['an unknown profile', { profile: 'magic' }, [invalid, '/profile']],
    ['an unknown fusion', { hybrid: { fusion: 'sum' } }, [invalid, '/hybrid/fusion']],
    ['weights 0', { hybrid: { vectorWeight: 0, lexicalWeight: 0 } }, [invalid, '/hybrid']],
    ['one weight 0', { hybrid: { vectorWeight: 0 } }, null],
    ['a negative weight', { hybrid: { vectorWeight: -1 } }, [invalid, '/hybrid/vectorWeight']],
    [
      'weights without a sum',
      { hybrid: { vectorWeight: 1e308, lexicalWeight: 1e308 } },
      [invalid, '/hybrid'],
    ],
    ['no multiplier', { hybrid: { candidateMultiplier: 0 } }, [invalid, '/hybrid/candidateMultiplier']],
    ['no k', { hybrid: { rrfK: 0 } }, [invalid, '/hybrid/rrfK']],
    [
      'huge candidates',
      { hybrid: { vectorCandidateLimit: 1e9 } },
      [exceeded, '/hybrid/vectorCandidateLimit'],
    ],
    ['8 vectors', { vectorFields: names(8).map((field) => ({ field })) }, null],
    ['9 vectors', { vectorFields: names(9).map((field) => ({ field })) }, [exceeded, '/vectorFields']],
    [
      'a vector twice',
      { vectorFields: [{ field: 'v' }, { field: ' v ' }] },
      [invalid, '/vectorFields/1/field'],
    ],
    ['vectors of weight 0', { vectorFields: [{ field: 'v', weight: 0 }] }, [invalid, '/vectorFields']],
    [
      'a vector of negative weight',
      { vectorFields: [{ field: 'v', weight: -1 }] },
      [invalid, '/vectorFields/0/weight'],
    ],
    [
      'an unknown purpose',
      { vectorFields: [{ field: 'v', embedding: { purpose: 'fun' } }] },
      [invalid, '/vectorFields/0/embedding/purpose'],
    ],
    ['an unknown purpose for all', { embedding: { purpose: 'fun' } }, [invalid, '/embedding/purpose']],
    ['a long text for a vector', { searchMode: 'vector', query: 'a'.repeat(100_001) }, [exceeded, '/query']],
    ['reranking of weights 0', { rerank: { enabled: true, rerankScoreWeight: 0 } }, [invalid, '/rerank']],
    [
      'reranking of nothing',
      { rerank: { enabled: true, candidateLimit: 0 } },
      [invalid, '/rerank/candidateLimit'],
    ],
    ['a filter of no operator', { filter: { path: '/type', op: 'like', value: 1 } }, [invalid, '/filter/op']],
    ['a filter of a path that is none', { filter: { path: 'type' } }, [invalid, '/filter/path']],
    ['a filter', { filter: { path: '/type', value: 'note' } }, null],
    ['a score that is none', { minScore: Number.NaN }, [invalid, '/minScore']],
    ['no scored candidates', { lexical: { scanLimit: 0 } }, [invalid, '/lexical/scanLimit']],
  ])('with %s', (_, request, expected) => {
    expect(refusal(request)).toEqual(expected);
  });
});

describe('the candidates of a retrieval', () => {
  const limitsOf = (request: Partial<RetrievalRequest>) => candidateLimits(read(request));

  test.each<[string, Partial<RetrievalRequest>, object]>([
    ['words', { limit: 3 }, { pool: 3, vectors: [], lexical: 50 }],
    ['words with a top', { lexical: { top: 5 } }, { pool: 10, lexical: 10 }],
    ['a vector', { embedding: {}, limit: 7 }, { pool: 7, vectors: [7] }],
    ['both', { searchMode: 'hybrid' }, { pool: 10, vectors: [80], lexical: 80 }],
    ['both, few', { searchMode: 'hybrid', limit: 2 }, { pool: 2, vectors: [50], lexical: 50 }],
    [
      'both, named',
      { searchMode: 'hybrid', hybrid: { vectorCandidateLimit: 3, lexicalCandidateLimit: 500 } },
      { pool: 10, vectors: [10], lexical: 500 },
    ],
    [
      'a vector with a limit of its own',
      { searchMode: 'hybrid', vectorFields: [{ field: 'v', candidateLimit: 30 }, { field: 'w' }] },
      { vectors: [30, 80] },
    ],
    ['reranking', { rerank: { enabled: true } }, { pool: 40, lexical: 50 }],
    ['reranking of few', { rerank: { enabled: true, candidateLimit: 3 } }, { pool: 10 }],
    [
      'a large limit',
      { searchMode: 'hybrid', limit: 1_000 },
      { pool: 1_000, vectors: [5_000], lexical: 5_000 },
    ],
    ['reranking of many', { rerank: { enabled: true }, limit: 1_000 }, { pool: 1_000 }],
  ])('for %s', (_, request, expected) => {
    expect(limitsOf(request)).toMatchObject(expected);
  });
});

test.each<[Partial<RetrievalRequest>, string | undefined]>([
  [{ embedding: { field: 'v' }, searchMode: 'vector' }, '/embedding/field'],
  [{ embedding: {} }, '/embedding/field'],
  [{ searchMode: 'hybrid', profile: 'discovery' }, '/searchMode'],
  [{ searchMode: ' ', profile: 'discovery' }, '/profile'],
  [{ vectorFields: [{ field: 'v' }], searchMode: 'vector' }, '/vectorFields/0/field'],
  [{}, undefined],
])('the vectors of %j are those of its member', (request, pointer) => {
  expect(read(request).vectors[0]?.pointer).toBe(pointer);
});
