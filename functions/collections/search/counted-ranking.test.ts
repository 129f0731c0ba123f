import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { share } from '../../../test/support/effort.ts';
import { finished } from '../../kernel/turns.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import { USUAL_WORD_CODE, type WordCounts } from '../../store/search.ts';
import type { Incarnation } from '../rules/incarnation.ts';
import { readPolicy } from '../rules/policy.ts';
import { readRecord } from '../rules/record-text.fixture.ts';
import { CountedRanking, chosenOf, endOfText, isCountable } from './counted-ranking.ts';
import { newestFormat } from './formats.ts';
import { type LexicalQuery, type LexicalRequest, readLexicalQuery } from './lexical-query.ts';
import { type NaiveRecord, naiveSearch } from './naive-search.fixture.ts';
import { LexiconReader } from './reader.ts';
import { collections, requests, whole } from './search.fixture.ts';

const runs = { numRuns: share(150, 3_000) };
const planted = { numRuns: 20_000, endOnFailure: true };
const policy = readPolicy({ name: 'c' });
const incarnation = 'a'.repeat(32) as Incarnation;
const format = newestFormat();

/** A planted fault changes one of these. */
interface Fault {
  readonly counts?: (counts: WordCounts) => WordCounts;
  readonly places?: (places: readonly number[]) => readonly number[];
  readonly behind?: (keys: readonly string[]) => readonly string[];
  readonly query?: (query: LexicalQuery) => LexicalQuery;
}

function storedOf(records: readonly NaiveRecord[]) {
  return records.map((record, place) => {
    const input = readRecord(record.text, policy);
    const { entry } = finished(format.entryOf(input, policy, incarnation));
    return { id: record.id, place, entry, terms: new Set(entry.terms) };
  });
}

/** An index in memory: the word counts of the records that hold a term. */
function countsOf(stored: ReturnType<typeof storedOf>, { terms }: LexicalQuery): WordCounts {
  const sought = terms.map((term) => format.wordTerm(term));
  const found = stored.filter((each) => sought.some((term) => each.terms.has(term)));
  return {
    places: Float64Array.from(found, ({ place }) => place),
    lengths: Uint32Array.from(found, ({ entry }) => entry.wordCounts!.length),
    codes: sought.map((term) =>
      Int32Array.from(found, ({ entry, terms: held }) =>
        held.has(term) ? (entry.wordCounts!.codes.get(term) ?? USUAL_WORD_CODE) : -1,
      ),
    ),
  };
}

/** `null`: word counts do not answer the request. */
function search(records: readonly NaiveRecord[], request: LexicalRequest, fault: Fault = {}) {
  const asked = readLexicalQuery(request, 5_000);
  if (!isCountable(asked)) return null;
  const query = fault.query?.(asked) ?? asked;
  const stored = storedOf(records);
  const given = countsOf(stored, query);
  const counts = fault.counts?.(given) ?? given;
  const chosen = whole(chosenOf(query, counts));
  if (chosen === null) return null;
  const keyAt = (index: number) => stored[counts.places[index]!]!.entry.orderKey;
  const keys = chosen.last.map(keyAt).sort(compareUtf8);
  const first = new Set((fault.behind?.(keys) ?? keys).slice(0, chosen.lastCount));
  const candidates = [...chosen.sure, ...chosen.last.filter((index) => first.has(keyAt(index)))];
  const ranking = new CountedRanking(query, counts, candidates, chosen.last.length > 0);
  const end = endOfText(query);
  const term = end === null ? null : format.prefixTerm(end);
  const all = whole(ranking.places());
  const holders = stored.filter(({ terms }) => term !== null && terms.has(term)).map(({ place }) => place);
  const places = term === null ? all : whole(ranking.placesAmong(holders));
  const lexicons = new LexiconReader(query);
  const read = (fault.places?.(places) ?? places).flatMap((place) => {
    const { id, entry } = stored[place]!;
    const reading = lexicons.read(format.lexicon(entry.lexicon));
    return reading === null || reading === 'body' ? [] : [{ id, reading }];
  });
  const { matches, isLimited } = whole(ranking.rank(read));
  return {
    isLimited,
    matches: matches.map(({ id, score, parts, reading }) => ({
      id,
      score,
      base: parts.base,
      fields: [...reading.paths].sort(),
      terms: query.terms.filter((_, index) => reading.isMatched[index] === 1).sort(),
    })),
  };
}

/** Requests that word counts answer: of whole words, in the fields that are searched by default. */
const countable = requests.map(
  (request): LexicalRequest => ({
    ...request,
    query: String(request.query).replaceAll('"', ''),
    fields: null,
    fieldBoosts: null,
    prefixMatching: null,
    requiredPhraseGroups: null,
  }),
);

function disagreement(fault: Fault, parameters: { readonly numRuns: number } = runs) {
  const asked = fc.array(
    countable.filter(({ query }) => String(query).trim() !== ''),
    { minLength: 5, maxLength: 5 },
  );
  const property = fc.property(collections, asked, (records, all) => {
    for (const request of all) {
      const answer = search(records, request, fault);
      if (answer === null) continue;
      const expected = naiveSearch(records, request);
      expect(answer).toEqual({ matches: expected.matches, isLimited: expected.isLimited });
    }
  });
  return fc.check(property, parameters);
}

describe('a ranking by word counts', () => {
  test('agrees with a second implementation of searches', () => {
    const { counterexample, errorInstance } = disagreement({});
    expect([counterexample, errorInstance]).toEqual([null, null]);
  });

  const codes = (change: (code: number) => number): Fault => ({
    counts: (counts) => ({ ...counts, codes: counts.codes.map((each) => each.map(change)) }),
  });
  const faults: readonly (readonly [string, Fault])[] = [
    ['words that all count once', codes((code) => (code > 2 ? 2 : code))],
    ['words of other fields', codes((code) => (code >= 0 && code < 2 ? 2 : code))],
    ['metadata that is left aside', codes((code) => (code < 0 ? code : code & ~1))],
    [
      'lengths that are left aside',
      { counts: (counts) => ({ ...counts, lengths: counts.lengths.map(() => 1) }) },
    ],
    ['a text that is found nowhere', { query: (query) => ({ ...query, whole: '' }) }],
    ['one record too few', { places: (places) => places.slice(0, -1) }],
    ['the last candidates in place of the first', { behind: (keys) => keys.toReversed() }],
  ];
  test.each(faults)('the comparison finds %s', (_, fault) => {
    expect(disagreement(fault, planted).counterexample).not.toBeNull();
  });

  test('reads the lexicons of few records', () => {
    const records = Array.from({ length: 300 }, (_, n) => ({
      id: String(n),
      partitionKey: 'p',
      recordId: String(n),
      text: JSON.stringify({
        id: `${n}`,
        partitionKey: 'p',
        content: `${'fox '.repeat(1 + (n % 97))}by ${n}`,
      }),
    }));
    const query = readLexicalQuery({ query: 'fox dog cat', top: 5 }, 5_000);
    const counts = countsOf(storedOf(records), query);
    const chosen = whole(chosenOf(query, counts));
    const places = whole(new CountedRanking(query, counts, chosen!.sure, false).places());
    expect(places.length).toBeLessThan(20);
  });

  test('reads a record that may hold the text of the query as a part of longer words, where a word begins with its end', () => {
    const contents = ['redfox eats dogs', 'fox eats', 'fox eats fox', 'fox fox'];
    const records = contents.map((content, n) => ({
      id: String(n),
      partitionKey: 'p',
      recordId: String(n),
      text: JSON.stringify({ id: `${n}`, partitionKey: 'p', content }),
    }));
    const query = readLexicalQuery({ query: 'fox eats dog', top: 1, phraseBoost: 2 }, 5_000);
    expect(endOfText(query)).toBe('dog');
    const counts = countsOf(storedOf(records), query);
    const ranking = new CountedRanking(query, counts, whole(chosenOf(query, counts))!.sure, false);
    expect(new Set(whole(ranking.places()))).toEqual(new Set([0, 1, 2]));
    expect(new Set(whole(ranking.placesAmong([0, 3])))).toEqual(new Set([0, 2]));
    expect(naiveSearch(records, { query: 'fox eats dog', top: 1, phraseBoost: 2 }).matches[0]?.id).toBe('0');
  });

  test('chooses its records in steps, and of any word none beyond its bound', () => {
    const words = Array.from({ length: 64 }, (_, n) => `w${n}`).join(' ');
    const countsOfAll = (size: number): WordCounts => ({
      places: Float64Array.from({ length: size }, (_, n) => n),
      lengths: new Uint32Array(size).fill(1),
      codes: Array.from({ length: 64 }, (_, term) =>
        Int32Array.from({ length: size }, (__, n) => (n % 64 === term ? USUAL_WORD_CODE : -1)),
      ),
    });
    const stepsOf = (size: number, matchMode: 'any' | 'all', scanLimit: number) => {
      const query = readLexicalQuery({ query: words, matchMode, scanLimit }, 5_000);
      const steps = chosenOf(query, countsOfAll(size));
      let count = 0;
      for (;;) {
        const { done, value } = steps.next();
        if (done === true) return { count, chosen: value === null ? null : value.sure.length };
        count += 1;
      }
    };
    expect(stepsOf(4_096, 'any', 5_000)).toEqual({ count: 4, chosen: 4_096 });
    expect(stepsOf(4_096, 'all', 1_024)).toEqual({ count: 4, chosen: 0 });
    expect(stepsOf(3_023, 'any', 1_024)).toEqual({ count: 2, chosen: 0 });
    expect(stepsOf(3_024, 'any', 1_024)).toEqual({ count: 0, chosen: null });
  });

  test('leaves other requests to lexicons', () => {
    const others: readonly LexicalRequest[] = [
      { query: '"fox dog"' },
      { query: 'fox', fields: ['/content'] },
      { query: 'fox', fieldBoosts: { '/content': 2 } },
      { query: 'fox', prefixMatching: true },
      { query: 'fox', requiredPhraseGroups: [['dog']] },
      { query: 'x'.repeat(40) },
      { query: '!' },
    ];
    for (const request of others) expect(isCountable(readLexicalQuery(request, 9))).toBe(false);
    expect(isCountable(readLexicalQuery({ query: 'x'.repeat(39) }, 9))).toBe(true);
  });
});
