import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../kernel/canonical-json.ts';
import { finished } from '../../kernel/turns.ts';
import { rankByTokens as overlap } from '../../providers/rules/token-overlap.ts';
import { mergeCollections } from './merge.ts';
import { blend, candidateId, candidateText } from './rerank.ts';
import { snippetOf } from './snippet.ts';

const result = (id: string, score: number) => ({ collection: 'c', partitionKey: 'p', id, score });
const item = (id: string, rank: number, score: number) => ({ id: candidateId(result(id, 0)), rank, score });
const rerankOnly = { rerankScoreWeight: 1, originalScoreWeight: 0 };

describe('the reranker of the service', () => {
  test('scores the share of the words of the query, rounded', () => {
    const texts = { none: 'dogs', one: 'Annual, dogs', two: 'the ANNUAL report!', empty: '' };
    const candidates = Object.entries(texts).map(([id, text]) => ({ id, text }));
    const items = overlap({ query: 'annual report 2026', candidates, limit: 3 });
    expect(items.slice(0, 2)).toEqual([
      { id: 'two', rank: 1, score: 0.666667 },
      { id: 'one', rank: 2, score: 0.333333 },
    ]);
    expect(items.length).toBe(3);
  });

  test('orders equal shares by the hash of id and text', () => {
    const candidates = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, text: 'same' }));
    const known = [...candidates].sort((x, y) => (sha256(x.id + x.text) < sha256(y.id + y.text) ? -1 : 1));
    const items = overlap({ query: 'same', candidates, limit: 5 });
    expect(items.map(({ id }) => id)).toEqual(known.map(({ id }) => id));
  });

  test('takes letters and decimal digits for words, and no other numbers', () => {
    const shareOf = (query: string, text: string) =>
      overlap({ query, candidates: [{ id: 'a', text }], limit: 1 })[0]?.score;
    expect([shareOf('m²', 'm'), shareOf('x ½', 'x'), shareOf('٣', 'no. ٣')]).toEqual([1, 1, 1]);
  });

  test('finds no word in a query of signs alone', () => {
    expect(overlap({ query: '?! —', candidates: [{ id: 'a', text: '?!' }], limit: 1 })[0]?.score).toBe(0);
  });
});

describe('the text of a candidate', () => {
  const options = { contentField: null, maxCandidateChars: 10 };
  test.each([
    ['the member that is named', { text: 'a', body: 'b' }, { ...options, contentField: 'body' }, 'b'],
    ['`text` where that is no string', { text: 'a', body: 1 }, { ...options, contentField: 'body' }, 'a'],
    ['the first string', { list: [1, { deep: 'b' }], last: 'c' }, options, 'b'],
    ['nothing without a string', { count: 1, no: null }, options, ''],
    ['nothing without content', null, options, ''],
    ['a member of its own only', {}, { ...options, contentField: 'constructor' }, ''],
    ['cut', { text: 'abcdefghijkl' }, options, 'abcdefghij'],
    ['cut before a pair of surrogates', { text: 'abcdefghi😀' }, options, 'abcdefghi'],
  ])('is %s', (_, content, asked, text) => {
    expect(candidateText(content, asked)).toBe(text);
  });

  test('is found in deep content', () => {
    let content: object = { text: 'deep' };
    for (let depth = 0; depth < 50_000; depth += 1) content = { in: content };
    expect(candidateText(content as never, { ...options, contentField: 'none' })).toBe('deep');
  });

  test('is found behind a long list', () => {
    const numbers = Array.from({ length: 150_000 }, () => 0);
    expect(candidateText({ numbers, last: 'found' }, options)).toBe('found');
  });
});

describe('a snippet', () => {
  test('is the text, or its begin with three dots', () => {
    expect(snippetOf({ text: 'a'.repeat(200) })).toBe('a'.repeat(200));
    expect(snippetOf({ text: 'a'.repeat(201) })).toBe(`${'a'.repeat(197)}...`);
    expect(snippetOf({ text: 1 })).toBe('');
    expect(snippetOf(null)).toBe('');
  });
});

describe('reranked results', () => {
  test('have scores between those of both also with weights and scores near the end of doubles', () => {
    const weights = fc.double({ min: 0.001, max: 1e308, noNaN: true });
    const scores = fc.double({ min: -1e308, max: 1e308, noNaN: true });
    fc.assert(
      fc.property(weights, weights, scores, scores, (one, other, given, found) => {
        fc.pre(Number.isFinite(one + other));
        const options = { rerankScoreWeight: one, originalScoreWeight: other };
        const [only] = blend([result('a', given)], [item('a', 1, found)], options);
        expect(Number.isFinite(only?.score)).toBe(true);
      }),
      { examples: [[1, 1e308, 1e308, 1e308]] },
    );
  });

  test('have the order of the reranker; results that it dropped follow in their old order', () => {
    const results = [result('a', 0.9), result('b', 0.8), result('c', 0.7), result('d', 0.6)];
    const blended = blend(results, [item('d', 1, 0.5), item('b', 2, 0.25)], rerankOnly);
    expect(blended.map(({ result: { id }, score, originalRank }) => [id, score, originalRank])).toEqual([
      ['d', 0.5, 4],
      ['b', 0.25, 2],
      ['a', 0.9, 1],
      ['c', 0.7, 3],
    ]);
  });

  test('take the first place of a result that is named twice', () => {
    const blended = blend([result('a', 0.1)], [item('a', 1, 0.75), item('a', 2, 0.5)], rerankOnly);
    expect(blended.map(({ score }) => score)).toEqual([0.75]);
  });

  test('have the weighted mean of both scores', () => {
    const blended = blend([result('a', 1), result('b', 0)], [item('b', 1, 1), item('a', 2, 0)], {
      rerankScoreWeight: 1,
      originalScoreWeight: 3,
    });
    expect(blended.map(({ result: { id }, score }) => [id, score])).toEqual([
      ['a', 0.75],
      ['b', 0.25],
    ]);
  });

  test('are all kept, each once, for any answer of the reranker', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'unknown');
    const answers = fc.array(fc.tuple(ids, fc.integer({ min: 1, max: 9 }), fc.constantFrom(0, 0.5, 1)));
    const kept = ['a', 'b', 'c', 'd'];
    fc.assert(
      fc.property(answers, (items) => {
        const results = kept.map((id, at) => result(id, 1 - at / 10));
        const blended = blend(
          results,
          items.map((each) => item(...each)),
          rerankOnly,
        );
        expect(blended.map((each) => each.result.id).sort()).toEqual(kept);
        const named = blended.filter(({ rerank }) => rerank !== null);
        expect(blended.slice(0, named.length)).toEqual(named);
        const rest = blended.slice(named.length).map(({ originalRank }) => originalRank);
        expect(rest).toEqual([...rest].sort((a, b) => a - b));
      }),
    );
  });
});

describe('the results of several collections', () => {
  test('are in the order of score, collection, partition and id, as a second implementation sorts them', () => {
    const text = fc.constantFrom('a', 'b', '\ud83d\ude00', '\uffee', 'ab');
    const place = fc.record({ partitionKey: text, id: text, score: fc.constantFrom(0, 0.5, 1) });
    const places = fc.uniqueArray(place, {
      selector: ({ partitionKey, id }) => JSON.stringify([partitionKey, id]),
    });
    fc.assert(
      fc.property(fc.array(places, { maxLength: 4 }), fc.integer({ min: 1, max: 20 }), (lists, most) => {
        const named = lists.map((list, at) => list.map((each) => ({ collection: `c${at}`, ...each })));
        const bytes = (...parts: string[]) =>
          parts.map((part) => Buffer.from(part).toString('hex')).join('!');
        const keyOf = ({ collection, partitionKey, id }: (typeof named)[0][0]) =>
          bytes(collection, partitionKey, id);
        const known = named
          .flat()
          .sort((x, y) => y.score - x.score || (keyOf(x) < keyOf(y) ? -1 : 1))
          .slice(0, most);
        expect(finished(mergeCollections(named, most))).toEqual(known);
      }),
    );
  });
});

test('16,000 results of one score are merged in a step for each 512, at the least', () => {
  const partitionKey = 'p'.repeat(600);
  const lists = Array.from({ length: 16 }, (_, at) =>
    Array.from({ length: 1_000 }, (__, id) => ({
      collection: `c${at}`,
      partitionKey,
      id: `${id}`,
      score: 1,
    })),
  );
  // Their keys, the runs of the sort, and five times the runs together.
  expect([...mergeCollections(lists, 1_000)].length).toBeGreaterThan((7 * 16_000) / 513 - 1);
});
