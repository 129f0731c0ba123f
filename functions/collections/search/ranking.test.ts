import { describe, expect, test } from 'vitest';
import { finished } from '../../kernel/turns.ts';
import { readPolicy } from '../rules/policy.ts';
import { lexicalDiagnostics, vectorDiagnostics } from './diagnostics.ts';
import { entryFormats } from './formats.ts';
import { FoundText } from './found-text.ts';
import { type LexicalRequest, readLexicalQuery } from './lexical-query.ts';
import { lexiconMark, lexiconOf, normalLeaves } from './lexicon.ts';
import { printedNumber } from './numbers.ts';
import { CandidatePool } from './pool.ts';
import { whole } from './search.fixture.ts';
import { readVectorQuery } from './vector-query.ts';

type Leaves = Readonly<Record<string, string>>;

/** Ranks records, given by their leaves; ids and order keys are their places in the list. */
function rank(records: readonly Leaves[], request: LexicalRequest, candidatesMax = 5_000) {
  const pool = new CandidatePool(readLexicalQuery(request, candidatesMax), 'inverted_index');
  for (const [index, leaves] of records.entries()) {
    const texts = Object.entries(leaves).map(([path, text]) => ({ path, text }));
    const reading = pool.read(lexiconOf(`p\u0001${index}`, finished(normalLeaves(texts))));
    if (reading !== null && reading !== 'body') pool.add(String(index), reading);
  }
  return whole(pool.rank());
}

function scores(records: readonly Leaves[], request: LexicalRequest): [string, number][] {
  return rank(records, request).matches.map(({ id, score }) => [id, printedNumber(score)]);
}

const plain = { phraseBoost: 0, exactBoost: 0, metadataBoost: 0 };

describe('bm25', () => {
  const records = [
    { '/content': 'fox fox dog' },
    { '/content': 'fox' },
    { '/content': 'cat' },
    { '/content': 'dog bird bird bee' },
  ];

  test('has the scores of its formula over the candidates', () => {
    // Three candidates with an average of 8/3 words: the record without a term is none.
    const idf = Math.log(1 + 1.5 / 2.5);
    const part = (tf: number, length: number) =>
      (idf * (tf * 2.2)) / (tf + 1.2 * (0.25 + (0.75 * length) / (8 / 3)));
    const raws = [part(2, 3) + part(1, 3), part(1, 1), part(1, 4)];
    expect(scores(records, { query: 'fox dog', ...plain })).toEqual([
      ['0', 1],
      ['1', printedNumber(Math.fround(raws[1]! / raws[0]!))],
      ['3', printedNumber(Math.fround(raws[2]! / raws[0]!))],
    ]);
    expect(scores(records, { query: 'fox dog', ...plain })).toEqual([
      ['0', 1],
      ['1', 0.58934903],
      ['3', 0.36417323],
    ]);
  });

  test('knows no length with b of 0, and hardly a frequency with a small k1', () => {
    const [, second] = scores(records, { query: 'fox', bm25B: 0, ...plain });
    expect(second).toEqual(['1', printedNumber(Math.fround(2.2 / 2.2 / ((2 * 2.2) / 3.2)))]);
    expect(scores(records, { query: 'fox', bm25B: 0, bm25K1: 1e-30, ...plain })).toEqual([
      ['0', 1],
      ['1', 1],
    ]);
  });
});

describe('coverage', () => {
  test('counts the terms that match, and their frequencies up to the number of terms', () => {
    const records = [{ '/content': 'fox dog' }, { '/content': 'fox fox fox' }, { '/content': 'fox' }];
    expect(scores(records, { query: 'fox dog', scoring: 'coverage', ...plain })).toEqual([
      ['0', 1],
      ['1', 0.6],
      ['2', 0.5],
    ]);
  });

  test('leaves the boosts of fields aside', () => {
    const records = [{ '/content': 'fox' }, { '/metadata/title': 'fox' }, { '/content': 'fox fox' }];
    for (const fieldBoosts of [{}, { '/content': 7, '/metadata': 0 }, { '/content': 0.1 }]) {
      expect(scores(records, { query: 'fox dog', scoring: 'coverage', fieldBoosts, ...plain })).toEqual([
        ['2', 0.6],
        ['0', 0.5],
        ['1', 0.5],
      ]);
    }
  });
});

describe('scores', () => {
  test('gain by phrases, exact fields and matches in metadata, up to 1', () => {
    const records = [
      { '/content': 'the red  FOX, asleep' },
      { '/content': 'red fox' },
      { '/content': 'red, fox' },
      { '/metadata/title': 'red-fox' },
    ];
    const request = { query: '"red fox" hen', scoring: 'coverage', fieldBoosts: { '/content': 0 } };
    expect(scores(records, { ...request, phraseBoost: 0.05, exactBoost: 0.06, metadataBoost: 0.07 })).toEqual(
      [
        ['1', 0.7766667],
        ['3', 0.7366667],
        ['0', 0.7166667],
        ['2', 0.6666667],
      ],
    );
    expect(scores(records, { ...request, exactBoost: 3 })[0]).toEqual(['1', 1]);
  });

  test('count a phrase as text: within a word, and without any word', () => {
    const request = { query: '"ab" !!', scoring: 'coverage', prefixMatching: true };
    expect(scores([{ '/content': 'ab' }, { '/content': 'ab cab !!' }], request)).toHaveLength(2);
    const signs = rank([{ '/content': 'what !! now' }, { '/content': 'none' }], { query: '!!' });
    expect(signs.matches.map(({ id, score }) => [id, printedNumber(score)])).toEqual([['0', 0.15]]);
  });

  test('are compared with the least score in float32', () => {
    const records = [{ '/content': 'fox fox' }];
    const request = { query: 'fox dog cat', scoring: 'coverage', ...plain };
    expect(scores(records, request)).toEqual([['0', 0.4]]);
    expect(scores(records, { ...request, minScore: 0.4 })).toHaveLength(1);
    expect(scores(records, { ...request, minScore: 0.40000004 })).toHaveLength(0);
  });

  test('of equal height stand in the order of the listing, by the bytes of UTF-8', () => {
    const pool = new CandidatePool(readLexicalQuery({ query: 'fox' }, 5_000), 'inverted_index');
    const keys = ['p\u0001😀', 'p\u0001\uE000', 'P\u0001z', 'p\u0001a', 'pp\u0001a'];
    for (const [index, key] of keys.entries()) {
      const reading = pool.read(lexiconOf(key, [{ path: '/content', text: 'fox' }]));
      if (reading !== null && reading !== 'body') pool.add(String(index), reading);
    }
    expect(whole(pool.rank()).matches.map(({ id }) => id)).toEqual(['2', '3', '1', '0', '4']);
  });

  test('stay finite for the highest boosts', () => {
    const request = { query: 'fox dog', fieldBoosts: { '/content': 3e38 }, bm25K1: 3e38, phraseBoost: 3e38 };
    const ranking = rank([{ '/content': 'fox dog' }, { '/content': 'dog' }], request);
    expect(ranking.matches.map(({ score }) => score)).toEqual([1, expect.closeTo(0.267757624)]);
    const identity = { collection: 'c', partitionKey: 'p', id: '0', type: '', etag: 'rev:1', revision: 1 };
    expect(JSON.stringify(lexicalDiagnostics(ranking, ranking.matches[0]!, identity))).not.toContain(
      'null,"lexicalRaw',
    );
  });
});

describe('prefixes', () => {
  test('count longer words of a field only where it has no exact one', () => {
    const { matches } = rank([{ '/content': 'fox foxes', '/metadata/a': 'foxes foxed' }], {
      query: 'fox',
      prefixMatching: true,
    });
    expect([...matches[0]!.reading.weights]).toEqual([3]);
    expect([...matches[0]!.reading.isPrefixed]).toEqual([1]);
  });
});

describe('phrases', () => {
  const isFound = (text: Leaves, request: LexicalRequest) => rank([text], request).corpus.count === 1;

  test.each([
    ['a a b', '"a b"', true],
    ['a b a b a c', '"a b a c"', true],
    ['a b a b a d', '"a b a c"', false],
    ['red, (Fox)', '"red fox"', true],
    ['red old fox', '"red fox"', false],
    ['infra red fox', '"red fox"', true],
    ['infrared fox', '"red fox"', false],
    ['red foxes', '"red fox"', false],
    ['שלום-עולם', '"שלום עולם"', true],
  ])('in %j: %s is found: %s', (text, query, found) => {
    expect(isFound({ '/content': text }, { query, prefixMatching: true })).toBe(found);
  });

  test('do not cross leaves, and are found in fields that are not selected', () => {
    expect(isFound({ '/metadata/a/0': 'red', '/metadata/a/1': 'fox' }, { query: '"red fox"' })).toBe(false);
    expect(isFound({ '/other': 'red fox' }, { query: '"red fox"' })).toBe(true);
    expect(
      isFound(
        { '/content': 'cat', '/other': 'red fox' },
        { query: 'cat', requiredPhraseGroups: [['red fox']] },
      ),
    ).toBe(true);
  });

  test('that repeat themselves are found in time that grows with the text', () => {
    const text = 'ab '.repeat(20_000);
    expect(isFound({ '/content': text }, { query: `"${'ab '.repeat(8_000)}c"` })).toBe(false);
    expect(isFound({ '/content': text }, { query: `"${'ab '.repeat(8_000)}"` })).toBe(true);
    const needle = new FoundText(`${'a'.repeat(30_000)}b`);
    const placeIn = (other: string) => {
      needle.begin(other);
      return needle.next(0);
    };
    expect(placeIn('a'.repeat(400_000))).toBe(Infinity);
    expect(placeIn(`${'a'.repeat(400_000)}b`)).toBe(370_000);
  });
});

describe('a pool', () => {
  test('is limited by the candidate behind the scan limit', () => {
    const records = [{ '/content': 'fox' }, { '/content': 'fox fox' }, { '/content': 'fox fox fox' }];
    const limited = rank(records, { query: 'fox', scanLimit: 2, ...plain });
    expect(limited.matches.map(({ id }) => id)).toEqual(['1', '0']);
    expect(limited.isLimited).toBe(true);
    expect(rank(records, { query: 'fox', scanLimit: 3 }).isLimited).toBe(false);
    const pool = new CandidatePool(readLexicalQuery({ query: 'fox', scanLimit: 2 }, 5_000), 'inverted_index');
    const reading = whole(pool.readText('k', '{"content":"fox"}'))!;
    expect(pool.missing).toBe(3);
    expect(pool.add('1', reading)).toBe(true);
    expect(pool.add('2', reading)).toBe(true);
    expect([pool.missing, pool.isLimited]).toEqual([1, false]);
    expect(pool.add('3', reading)).toBe(false);
    expect([pool.has('3'), pool.isLimited]).toEqual([false, true]);
    expect(whole(pool.rank()).corpus.count).toBe(2);
  });

  test('asks for the record where the lexicon is a mark', () => {
    const pool = new CandidatePool(readLexicalQuery({ query: 'fox' }, 5_000), 'inverted_index');
    expect(pool.read(lexiconMark('k'))).toBe('body');
    expect(whole(pool.readText('k', '{"content":"cat"}'))).toBeNull();
  });

  test('without candidates has an empty ranking', () => {
    expect(rank([], { query: 'fox' })).toMatchObject({ corpus: { count: 0, averageLength: 0 }, matches: [] });
  });
});

describe('diagnostics', () => {
  const identity = { collection: 'c', partitionKey: 'p', id: '0', type: 'note', etag: 'rev:3', revision: 3 };

  test('of a lexical match name the search and its limits', () => {
    const ranking = rank(
      [{ '/content': 'red foxes run', '/metadata/title': 'red fox' }, { '/content': 'red' }],
      {
        query: '"red fox" run',
        matchMode: 'any',
        prefixMatching: true,
        requiredPhraseGroups: [['red']],
        scanLimit: 9,
      },
      2,
    );
    expect(lexicalDiagnostics(ranking, ranking.matches[0]!, identity)).toEqual({
      schemaVersion: 'svc.retrieval.diagnostics.v1',
      resultIdentity: identity,
      scoreComponents: {
        lexical: 1,
        lexicalBase: 1,
        lexicalRaw: printedNumber(ranking.matches[0]!.parts.raw),
        termCoverage: 1,
        termFrequency: 5,
        phraseBoost: 0.15,
        exactBoost: 0.25,
        metadataBoost: 0.1,
        maxFieldBoost: 1,
      },
      scoreNormalization: {
        finalScoreKind: 'lexical.score',
        vectorScoreKind: null,
        lexicalScoreKind: 'lexical.bm25',
        hybridFusion: null,
        vectorDistanceFunction: null,
        vectorNormalization: null,
        weights: {},
        parameters: { bm25K1: 1.2, bm25B: 0.75 },
      },
      candidateSources: ['lexical'],
      candidateCounts: { searchCandidatePool: 1, returnedCandidates: 1 },
      reasonCodes: [
        'result.identity.record',
        'mode.lexical',
        'candidate.source.lexical',
        'score.lexical',
        'rank.final.assigned',
        'rank.tie_break.applied',
      ],
      matchedFields: ['/content', '/metadata/title'],
      matchedTerms: ['fox', 'red', 'run'],
      traceReferences: [],
      details: {
        lexicalFields: ['/content', '/metadata', '/id', '/type', '/sources'],
        lexicalScoring: 'bm25',
        termIdf: { red: 0.2876821, fox: 0.2876821, run: 0.2876821 },
        termScores: expect.any(Object),
        documentLength: 5,
        averageDocumentLength: 5,
        corpusDocumentCount: 1,
        lexicalCandidateSource: 'inverted_index',
        lexicalCandidateCount: 1,
        lexicalScanLimit: 2,
        lexicalScanLimitSource: 'deployment',
        lexicalScanLimitReached: false,
        matchedPhrases: ['red fox'],
        matchedPrefixTerms: ['fox'],
        matchedRequiredPhraseGroups: [['red']],
        rank: 1,
        tieBreakOrder: ['score desc', 'partitionKey asc', 'id asc'],
        tieBreakKey: { partitionKey: 'p', id: '0' },
      },
    });
  });

  test('of a vector match name no database', () => {
    const policy = readPolicy({
      name: 'c',
      vectorPolicies: [
        { name: 'v', path: '/vectors/v/values', dimensions: 1, distanceFunction: 'DOTproduct' },
      ],
    });
    const query = readVectorQuery({ field: 'v', value: [1] }, policy, entryFormats);
    const place = { returned: 3, rank: 2, score: Math.fround(0.1) };
    expect(vectorDiagnostics(query, place, identity)).toMatchObject({
      scoreComponents: { vector: 0.1 },
      scoreNormalization: {
        finalScoreKind: 'vector.raw_similarity',
        vectorScoreKind: 'vector.similarity.dotproduct',
        vectorDistanceFunction: 'dotProduct',
        lexicalScoreKind: null,
      },
      candidateCounts: { searchCandidatePool: 3, returnedCandidates: 3 },
      candidateSources: ['vector'],
      matchedFields: ['/vectors/v/values'],
      details: {
        vectorIndexProvider: 'exact_scan',
        vectorIndexUsed: false,
        vectorIndexReason: 'local_exact_scan',
        rank: 2,
      },
    });
  });
});

test.each(['bm25', 'coverage'] as const)(
  '5,000 candidates are ranked by %s in a step for each 512, at the least',
  (scoring) => {
    const query = readLexicalQuery({ query: 'fox dog', scoring, scanLimit: 5_000, top: 1_000 }, 5_000);
    const pool = new CandidatePool(query, 'inverted_index');
    for (let index = 0; index < 5_000; index += 1) {
      const reading = pool.read(lexiconOf(`p\u0001${index}`, [{ path: '/content', text: `fox ${index}` }]));
      if (reading !== null && reading !== 'body') pool.add(String(index), reading);
    }
    const steps = pool.rank();
    // The corpus, the raw scores, the scores, and the order.
    const least = (4 * 5_000) / 512;
    for (let taken = 0; taken < least; taken += 1) expect(steps.next().done).toBe(false);
    expect(whole(steps).matches).toHaveLength(1_000);
  },
);
