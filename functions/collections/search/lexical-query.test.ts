import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import { readPolicy } from '../rules/policy.ts';
import { entryFormats } from './formats.ts';
import { type LexicalRequest, readLexicalQuery } from './lexical-query.ts';
import { planLexical } from './plan.ts';
import { QUERY_WORDS_MAX } from './query-words.ts';
import { readVectorQuery } from './vector-query.ts';

const read = (request: LexicalRequest) => readLexicalQuery(request, 5_000);
const manyWords = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(' ');

function refusal(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.extensions.errors?.[0]?.pointer];
    throw error;
  }
  return null;
}

describe('the words of a query', () => {
  test.each<[string, { terms: string[]; loose: string[]; phrases: string[]; whole: string }]>([
    [
      'The Quick fox',
      { terms: ['quick', 'fox'], loose: ['quick', 'fox'], phrases: [], whole: 'the quick fox' },
    ],
    ['to be', { terms: ['to', 'be'], loose: ['to', 'be'], phrases: [], whole: 'to be' }],
    ['of the of', { terms: ['of', 'the'], loose: ['of', 'the'], phrases: [], whole: 'of the of' }],
    ['a x', { terms: ['a', 'x'], loose: ['a', 'x'], phrases: [], whole: 'a x' }],
    ['fox FOX', { terms: ['fox'], loose: ['fox'], phrases: [], whole: 'fox fox' }],
    [
      'red "Big  Fox" fox',
      { terms: ['red', 'big', 'fox'], loose: ['red', 'fox'], phrases: ['big fox'], whole: 'red big fox fox' },
    ],
    [
      '"one two" "three',
      { terms: ['one', 'two', 'three'], loose: ['three'], phrases: ['one two'], whole: 'one two three' },
    ],
    ['"', { terms: [], loose: [], phrases: [], whole: '' }],
    ['""', { terms: [], loose: [], phrases: [], whole: '' }],
    ['" " x', { terms: ['x'], loose: ['x'], phrases: [], whole: 'x' }],
    ['"!!" ?', { terms: [], loose: [], phrases: ['!!'], whole: '!! ?' }],
    ['"a b" "a b"', { terms: ['a', 'b'], loose: [], phrases: ['a b'], whole: 'a b a b' }],
    ['שלום "עולם', { terms: ['שלום', 'עולם'], loose: ['שלום', 'עולם'], phrases: [], whole: 'שלום עולם' }],
  ])('%j', (query, { terms, loose, phrases, whole }) => {
    const found = read({ query });
    expect(found).toMatchObject({ terms, looseTerms: loose, whole });
    expect(found.phrases.map(({ text }) => text)).toEqual(phrases);
  });

  test('are at most 128, and a query of 10,000 is refused', () => {
    expect(read({ query: manyWords(QUERY_WORDS_MAX) }).terms).toHaveLength(QUERY_WORDS_MAX);
    expect(refusal(() => read({ query: manyWords(QUERY_WORDS_MAX + 1) }))).toEqual([
      'limit_exceeded',
      '/lexical/query',
    ]);
    expect(refusal(() => read({ query: manyWords(10_000) }))).toEqual(['limit_exceeded', '/lexical/query']);
    expect(read({ query: 'same words again '.repeat(10_000) }).terms).toEqual(['same', 'words', 'again']);
  });
});

describe('a lexical search', () => {
  test('has defaults', () => {
    expect(read({ query: 'fox' })).toEqual({
      terms: ['fox'],
      looseTerms: ['fox'],
      phrases: [],
      whole: 'fox',
      fields: ['/content', '/metadata', '/id', '/type', '/sources'],
      fieldBoosts: new Map(),
      top: 50,
      scanLimit: 5_000,
      scanLimitFrom: 'request',
      scanLimitMax: 5_000,
      minScore: null,
      scoring: 'bm25',
      matchMode: 'any',
      k1: 1.2,
      b: 0.75,
      boosts: { phrase: Math.fround(0.15), exact: 0.25, metadata: Math.fround(0.1) },
      isPrefix: [false],
      requiredGroups: [],
    });
  });

  test('takes null for a default, and an empty list of fields', () => {
    const nulls = {
      fields: [],
      top: null,
      scanLimit: null,
      scoring: null,
      fieldBoosts: null,
      phraseBoost: null,
    };
    expect(read({ query: 'fox', ...nulls })).toEqual(read({ query: 'fox' }));
  });

  test('keeps given values', () => {
    const query = read({
      query: 'fox ab',
      fields: [' /content ', '/content', '/metadata/a~1b'],
      fieldBoosts: { '/content': 2, '/id': -3 },
      phraseBoost: -1,
      prefixMatching: true,
      top: 10 ** 9,
      requiredPhraseGroups: [['The  Fox!', 'the fox', 'b']],
      minScore: 0.7,
    });
    expect(query).toMatchObject({
      fields: ['/content', '/metadata/a~1b'],
      fieldBoosts: new Map([
        ['/content', 2],
        ['/id', 0],
      ]),
      boosts: { phrase: 0 },
      isPrefix: [true, false],
      top: 10 ** 9,
      requiredGroups: [['the fox', 'b']],
      minScore: Math.fround(0.7),
    });
  });

  test('scores no more candidates than the deployment allows', () => {
    expect(readLexicalQuery({ query: 'x' }, 500)).toMatchObject({
      scanLimit: 500,
      scanLimitFrom: 'deployment',
      scanLimitMax: 500,
    });
    expect(readLexicalQuery({ query: 'x', scanLimit: 500 }, 500)).toMatchObject({
      scanLimit: 500,
      scanLimitFrom: 'request',
    });
  });

  test.each<[string, string, LexicalRequest]>([
    ['validation_failed', '/query', {}],
    ['validation_failed', '/query', { query: null }],
    ['validation_failed', '/query', { query: ' \n' }],
    ['validation_failed', '/top', { query: 'x', top: 0 }],
    ['validation_failed', '/top', { query: 'x', top: 1.5 }],
    ['validation_failed', '/scanLimit', { query: 'x', scanLimit: -1 }],
    ['validation_failed', '/scoring', { query: 'x', scoring: 'tfidf' }],
    ['validation_failed', '/matchMode', { query: 'x', matchMode: 'ANY' }],
    ['validation_failed', '/bm25K1', { query: 'x', bm25K1: 0 }],
    ['validation_failed', '/bm25K1', { query: 'x', bm25K1: 1e300 }],
    ['validation_failed', '/bm25B', { query: 'x', bm25B: 1.01 }],
    ['validation_failed', '/bm25B', { query: 'x', bm25B: -0.1 }],
    ['validation_failed', '/phraseBoost', { query: 'x', phraseBoost: Infinity }],
    ['validation_failed', '/minScore', { query: 'x', minScore: 1e300 }],
    ['validation_failed', '/prefixMinChars', { query: 'x', prefixMinChars: 0 }],
    ['validation_failed', '/fields/1', { query: 'x', fields: ['/a', 'content'] }],
    ['validation_failed', '/fields/0', { query: 'x', fields: [''] }],
    ['validation_failed', '/fields/0', { query: 'x', fields: ['/a~2'] }],
    ['limit_exceeded', '/fields', { query: 'x', fields: Array.from<string>({ length: 101 }).fill('/a') }],
    ['validation_failed', '/fieldBoosts/content', { query: 'x', fieldBoosts: { content: 2 } }],
    ['validation_failed', '/fieldBoosts/~1a', { query: 'x', fieldBoosts: { '/a': 1e300 } }],
    [
      'limit_exceeded',
      '/requiredPhraseGroups',
      { query: 'x', requiredPhraseGroups: Array.from({ length: 17 }, () => ['a']) },
    ],
    ['validation_failed', '/requiredPhraseGroups/0', { query: 'x', requiredPhraseGroups: [[]] }],
    [
      'limit_exceeded',
      '/requiredPhraseGroups/0',
      { query: 'x', requiredPhraseGroups: [Array.from({ length: 17 }, (_, index) => `p${index}`)] },
    ],
    ['validation_failed', '/requiredPhraseGroups/0/1', { query: 'x', requiredPhraseGroups: [['a', '!']] }],
    [
      'limit_exceeded',
      '/requiredPhraseGroups/0/0',
      { query: 'x', requiredPhraseGroups: [['a'.repeat(257)]] },
    ],
  ])('is refused as %s at %s for %j', (code, place, request) => {
    expect(refusal(() => read(request))).toEqual([code, `/lexical${place}`]);
  });
});

describe('the plan of a lexical search', () => {
  const plan = (request: LexicalRequest, counts: Record<string, number> = {}) => {
    const planned = planLexical(read(request));
    const { counted } = planned;
    const walk = planned.walk(counted.map((term) => counts[term] ?? 0));
    return { counted, walk: walk.source === 'scan' ? walk : { ...walk, terms: walk.terms.map(textOf) } };
  };
  const textOf = ({ term }: { term: string }) => term;
  /** Behind the words the records of which words are left out. */
  const indexed = (...terms: string[]) => walkBy(terms, 'morewords');
  const byPrefix = (...terms: string[]) => walkBy(terms, 'moreprefixes');
  const walkBy = (terms: readonly string[], more: string) =>
    expect.objectContaining({ source: 'inverted_index', terms: [...terms, more] }) as unknown;

  test('of one word asks for no count', () => {
    expect(plan({ query: 'fox' })).toEqual({ counted: [], walk: indexed('tfox') });
  });

  test('of any of several words walks all, the rarest first, then by text, and none without records', () => {
    const { counted, walk } = plan({ query: 'fox dog cat bee' }, { tfox: 2, tdog: 7, tcat: 2 });
    expect(counted).toEqual(['tbee', 'tcat', 'tdog', 'tfox']);
    expect(walk).toEqual(indexed('tcat', 'tfox', 'tdog'));
  });

  test('compares counts no further than its highest', () => {
    const { walk } = plan({ query: 'fox dog' }, { tfox: 10_000, tdog: 90_000 });
    expect(walk).toEqual(indexed('tdog', 'tfox'));
  });

  test('of all words walks the rarest', () => {
    expect(plan({ query: 'fox dog', matchMode: 'all' }, { tfox: 9, tdog: 7 }).walk).toEqual(indexed('tdog'));
    expect(plan({ query: 'fox dog', matchMode: 'all' }, { tfox: 9 }).walk).toEqual(indexed());
  });

  test('of a phrase walks the rarest of its longest words', () => {
    const { counted, walk } = plan(
      { query: '"of the quick brown foxes"' },
      { tquick: 3, tbrown: 2, tfoxes: 5, tthe: 9, tof: 1 },
    );
    expect(counted).toEqual(['tbrown', 'tfoxes', 'tquick', 'tthe']);
    expect(walk).toEqual(indexed('tbrown'));
  });

  test('of a prefix walks its term and the whole word, and of a short one the listing', () => {
    const prefixed = { prefixMatching: true, prefixMinChars: 1 };
    const counts = { '5abcde': 3, '3abc': 4, '3fox': 2, tabcdef: 1, tabcd: 5, tfox: 1 };
    expect(plan({ query: 'abcdef', ...prefixed }, counts).walk).toEqual(byPrefix('tabcdef', '5abcde'));
    expect(plan({ query: 'abcd', ...prefixed }, counts).walk).toEqual(byPrefix('3abc', 'tabcd'));
    expect(plan({ query: 'abcd', ...prefixed }, { '3abc': 4 }).walk).toEqual(byPrefix('3abc'));
    const all = { matchMode: 'all', ...prefixed };
    expect(plan({ query: 'abcdef fox', ...all }, counts).walk).toEqual(byPrefix('tfox', '3fox'));
    expect(plan({ query: 'abcd fox cat', ...all }, { ...counts, '3cat': 2 }).walk).toEqual(byPrefix('3cat'));
    expect(plan({ query: 'ab', ...prefixed }).walk).toEqual({ source: 'scan' });
    expect(plan({ query: 'ab fox', ...prefixed }).walk).toEqual({ source: 'scan' });
    expect(plan({ query: 'ab fox', ...all }, counts).walk).toEqual(byPrefix('tfox', '3fox'));
  });

  test('of required groups walks the smallest demand', () => {
    const request = { query: 'fox dog', requiredPhraseGroups: [['red', 'blue sky'], ['sea']] };
    expect(plan(request, { tfox: 1, tdog: 4, tred: 1, tblue: 3, tsky: 2, tsea: 4 }).walk).toEqual(
      indexed('tred', 'tsky'),
    );
  });

  test('holds for each term how many alternatives it or a later one finds, and the demand that they belong to', () => {
    const walkOf = (request: LexicalRequest, counts: Record<string, number>) => {
      const planned = planLexical(read(request));
      const walk = planned.walk(planned.counted.map((term) => counts[term] ?? 0));
      return walk.source === 'scan'
        ? []
        : [walk.demand, ...walk.terms.map(({ term, held }) => `${term} ${held}`)];
    };
    const counts = { tfox: 1, tdog: 2, tred: 3, tblue: 4, '3fox': 5 };
    expect(walkOf({ query: 'fox "red dog" dog "dog blue"' }, counts)).toEqual([
      'asked',
      'tfox 4',
      'tdog 3',
      'morewords 0',
    ]);
    expect(walkOf({ query: 'fox dog', prefixMatching: true }, { ...counts, '3dog': 9 })).toEqual([
      'asked',
      'tfox 2',
      'tdog 2',
      '3fox 2',
      '3dog 1',
      'moreprefixes 0',
    ]);
    expect(walkOf({ query: 'fox dog', matchMode: 'all' }, counts)).toEqual(['one', 'tfox 1', 'morewords 0']);
    expect(walkOf({ query: 'red blue', requiredPhraseGroups: [['big fox', 'dog']] }, counts)).toEqual([
      { group: 0 },
      'tdog 1',
      'morewords 0',
    ]);
  });

  test('of a query without words walks the listing, or a required group', () => {
    expect(plan({ query: '!!' }).walk).toEqual({ source: 'scan' });
    expect(plan({ query: '!!', requiredPhraseGroups: [['sea']] }).walk).toEqual(indexed('tsea'));
  });
});

describe('a vector search', () => {
  const policy = readPolicy({
    name: 'c',
    vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 2, distanceFunction: 'DotProduct' }],
  });

  test('has its slot, its metric and float32 numbers', () => {
    expect(readVectorQuery({ field: 'v', value: [0.1, 2], minScore: 0.7 }, policy, entryFormats)).toEqual({
      field: 'v',
      slots: ['2a'],
      metric: 'dotProduct',
      dimensions: 2,
      values: Float32Array.of(0.1, 2),
      top: 10,
      minScore: Math.fround(0.7),
    });
  });

  test.each([
    ['/field', { field: 'w', value: [1, 2] }],
    ['/value', { field: 'v', value: [1] }],
    ['/value/1', { field: 'v', value: [1, 1e39] }],
    ['/top', { field: 'v', value: [1, 2], top: 0 }],
    ['/minScore', { field: 'v', value: [1, 2], minScore: 1e39 }],
  ])('is refused at %s for %j', (place, request) => {
    expect(refusal(() => readVectorQuery(request, policy, entryFormats))).toEqual([
      'validation_failed',
      `/vector${place}`,
    ]);
  });
});
