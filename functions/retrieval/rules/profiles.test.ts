import { describe, expect, test } from 'vitest';
import { builtInProfiles } from './built-in-profiles.ts';
import { readRetrieval } from './request.ts';

const read = (request: object) => readRetrieval({ query: 'q', collections: ['c'], ...request }, 5_000);

describe('the profiles', () => {
  test('are these, in this order', () => {
    expect(
      builtInProfiles.map(({ id, label, defaults, requiresVector, usesRerank }) => [
        id,
        label,
        defaults.searchMode,
        defaults.limit,
        requiresVector,
        usesRerank,
      ]),
    ).toEqual([
      ['evidence', 'Evidence lookup', 'lexical', 8, false, false],
      ['ragBaseline', 'RAG baseline', 'lexical', 8, false, false],
      ['rerankPolish', 'Rerank polish', 'lexical', 8, false, true],
      ['deepQuality', 'Deep quality', 'lexical', 8, false, true],
      ['discovery', 'Semantic discovery', 'hybrid', 10, true, false],
      ['productOptimization', 'Product optimization', 'hybrid', 12, true, false],
    ]);
  });

  test('are requests that the service answers', () => {
    for (const { id } of builtInProfiles) expect(read({ profile: id }).profile).toBe(id);
  });

  test('have these weights, boosts and candidates', () => {
    expect(read({ profile: 'discovery' }).hybrid).toMatchObject({ vectorWeight: 0.35, lexicalWeight: 0.65 });
    expect(read({ profile: 'productOptimization' }).hybrid).toMatchObject({
      vectorWeight: 0.45,
      lexicalWeight: 0.55,
    });
    expect(read({ profile: 'discovery' }).vectors[0]?.field).toBe('contentEmbedding');
    expect(read({ profile: 'evidence' }).lexical?.fieldBoosts).toEqual({
      '/metadata/referenceId': 3,
      '/id': 1.5,
      '/metadata/page': 1.25,
      '/metadata/title': 1.15,
    });
    expect(read({ profile: 'rerankPolish' }).rerank).toMatchObject({
      candidateLimit: 8,
      maxCandidateChars: 1_000,
    });
    expect(read({ profile: 'deepQuality' }).rerank).toMatchObject({
      candidateLimit: 40,
      maxCandidateChars: 2_000,
    });
  });
});

describe('a request with a profile', () => {
  test('finds it without regard to case, and is traced', () => {
    expect(read({ profile: ' EVIDENCE ', includeTrace: false })).toMatchObject({
      profile: 'evidence',
      includeTrace: true,
    });
  });

  test('keeps its own members', () => {
    const own = read({ profile: 'discovery', searchMode: 'lexical', lexical: { fields: ['/id'] }, limit: 3 });
    expect(own).toMatchObject({ mode: 'lexical', limit: 3, lexical: { fields: ['/id'] } });
    expect(own.lexical?.prefixMatching).toBeUndefined();
    expect(read({ profile: 'deepQuality', rerank: { enabled: false } }).rerank).toBeNull();
  });

  test('has the limit of the profile in place of the default', () => {
    expect(read({ profile: 'evidence' }).limit).toBe(8);
    expect(read({ profile: 'evidence', limit: 10 }).limit).toBe(8);
    expect(read({ profile: 'evidence', limit: 11 }).limit).toBe(11);
  });

  test('that does not exist is refused with those that do', () => {
    expect(() => read({ profile: 'best' })).toThrow(
      'must be the id of a retrieval profile: evidence, ragBaseline, rerankPolish, deepQuality, discovery, productOptimization',
    );
  });
});
