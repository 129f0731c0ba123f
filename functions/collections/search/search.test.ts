import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextFormat, nextFormats, nextTerms } from '../../../test/conformance/next-entries.ts';
import { share } from '../../../test/support/effort.ts';
import { finished } from '../../kernel/turns.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { Incarnation } from '../rules/incarnation.ts';
import { readPolicy } from '../rules/policy.ts';
import { orderKey } from '../rules/record-key.ts';
import { readRecord } from '../rules/record-text.fixture.ts';
import { CandidateOrder, foundMax } from './candidate-order.ts';
import { type EntryFormat, entryFormats } from './formats.ts';
import { leavesOf } from './leaves.ts';
import { type LexicalQuery, type LexicalRequest, readLexicalQuery } from './lexical-query.ts';
import { lexiconMark } from './lexicon.ts';
import { type NaiveAnswer, type NaiveRecord, naiveSearch } from './naive-search.fixture.ts';
import { type CandidateWalk, heldBy, planLexical } from './plan.ts';
import { CandidatePool, type RankedMatch } from './pool.ts';
import type { CandidateReading } from './reader.ts';
import { collections, requests, whole } from './search.fixture.ts';
import { moreTerm, termsOf } from './terms.ts';
import { normalText, wordsOf } from './words.ts';

/** Each run asks five queries of one collection. The faults below are found within 62 runs. */
const runs = { numRuns: share(100, 2_000) };
/** A search for a planted fault ends when it finds one, so it may be long. */
const planted = { numRuns: 20_000, endOnFailure: true };
const policy = readPolicy({ name: 'c' });
const incarnation = 'a'.repeat(32) as Incarnation;

/** The changes of a planted fault. */
interface Fault {
  readonly request?: (request: LexicalRequest) => LexicalRequest;
  readonly query?: (query: LexicalQuery) => LexicalQuery;
  readonly walk?: (walk: CandidateWalk) => CandidateWalk;
  readonly held?: (held: number) => number;
  readonly lexicon?: (lexicon: string) => string;
  readonly reading?: (reading: CandidateReading) => CandidateReading;
  /** Terms of a record at the most. */
  readonly termsMax?: number;
  /** Records that are collected before the best of them are taken, in both implementations. */
  readonly together?: number;
  /** Records have entries of these in turn. */
  readonly formats?: readonly EntryFormat[];
  /** The formats that the search knows; the same if absent. */
  readonly known?: readonly EntryFormat[];
  readonly matches?: (matches: readonly RankedMatch[]) => readonly RankedMatch[];
}

/** Entries of a page of a term. */
const PAGE = 2;

/** A store in memory: terms, their records in the order of their keys, and every third lexicon as a mark. */
function search(records: readonly NaiveRecord[], request: LexicalRequest, fault: Fault = {}): NaiveAnswer {
  const as = <Value>(change: ((value: Value) => Value) | undefined, value: Value) => change?.(value) ?? value;
  const formats = fault.formats ?? entryFormats;
  const known = fault.known ?? formats;
  const stored = records.map((record, index) => {
    const input = readRecord(record.text, policy);
    const format = formats[index % formats.length]!;
    const { entry } = finished(format.entryOf(input, policy, incarnation));
    const written = known.includes(format) ? format.lexicon(entry.lexicon) : entry.lexicon;
    const lexicon = index % 3 === 2 ? lexiconMark(orderKey(input.key)) : as(fault.lexicon, written);
    const few = fault.termsMax === undefined ? null : fewTermsOf(input.text, fault.termsMax);
    return {
      id: record.id,
      terms: new Set(few === null ? entry.terms : format === nextFormat ? nextTerms(few) : few),
      lexicon,
      text: input.text,
      order: orderKey(input.key),
    };
  });
  const holding = (term: string) => stored.filter(({ terms }) => terms.has(term));
  const query = as(fault.query, readLexicalQuery(as(fault.request, request), 5_000));
  const plan = planLexical(query, known);
  const walk = as(fault.walk, plan.walk(plan.counted.map((term) => holding(term).length)));
  const pool = new CandidatePool(query, walk.source);
  const candidates: string[] = [];
  const listed = (some: typeof stored) => [...some].sort((a, b) => compareUtf8(a.order, b.order));
  const readingOf = ({ order, text }: (typeof stored)[number], lexicon: string | null) => {
    const read = lexicon === null ? 'body' : pool.read(lexicon);
    return read === 'body' ? whole(pool.readText(order, text)) : read;
  };
  const admit = (found: readonly { id: string; reading: CandidateReading }[]) => {
    for (const { id, reading } of found) {
      if (!pool.isLimited && pool.add(id, as(fault.reading, reading))) candidates.push(id);
    }
  };
  if (walk.source === 'scan') {
    for (const each of listed(stored)) {
      const reading = readingOf(each, null);
      if (reading !== null) admit([{ id: each.id, reading }]);
    }
  } else {
    const order = new CandidateOrder<{
      id: string;
      orderKey: string;
      held: number;
      reading: CandidateReading;
    }>(fault.together ?? foundMax(query.scanLimit));
    const found = new Set<string>();
    for (const [index, { term, held }] of walk.terms.entries()) {
      order.begin(held, walk.terms[index + 1]?.held ?? -1);
      const holders = listed(holding(term));
      for (let at = 0; at < holders.length; at += PAGE) {
        const page = holders.slice(at, at + PAGE);
        for (const each of page) {
          const reading = found.has(each.id) ? null : readingOf(each, each.lexicon);
          if (reading === null) continue;
          found.add(each.id);
          order.add({
            id: each.id,
            orderKey: each.order,
            held: as(fault.held, heldBy(reading, walk.demand)),
            reading,
          });
          if (order.isFull) admit(order.takeAll());
        }
        order.pass(page.at(-1)!.order);
        admit(order.take());
        order.keep(pool.missing);
      }
    }
    admit(order.takeAll());
  }
  const { matches, isLimited } = whole(pool.rank());
  expect(matches.map(({ rank }) => rank)).toEqual(matches.map((_, index) => index + 1));
  return {
    candidates,
    isLimited,
    matches: as(fault.matches, matches).map(({ id, score, parts, reading }) => ({
      id,
      score,
      base: parts.base,
      fields: [...reading.paths].sort(),
      terms: query.terms.filter((_, index) => reading.isMatched[index] === 1).sort(),
    })),
  };
}

function fewTermsOf(text: string, termsMax: number): readonly string[] {
  const leaves = [...leavesOf(text)].flatMap((leaf) =>
    leaf === null ? [] : [wordsOf(normalText(leaf.text))],
  );
  return finished(termsOf(leaves, undefined, termsMax)).terms;
}

function disagreement(fault: Fault, parameters = runs) {
  const property = fc.property(
    collections,
    fc.array(requests, { minLength: 5, maxLength: 5 }),
    (records, asked) => {
      for (const given of asked) {
        const isAsGiven = fault.termsMax === undefined && fault.formats === undefined;
        const request = isAsGiven ? given : { ...given, scanLimit: null };
        const expected = naiveSearch(records, request, undefined, undefined, fault.together);
        const answer = search(records, request, fault);
        expect(answer.matches).toEqual(expected.matches);
        expect(answer.isLimited).toBe(expected.isLimited);
        expect([...answer.candidates].sort()).toEqual([...expected.candidates].sort());
      }
    },
  );
  return fc.check(property, parameters);
}

describe('lexical search', () => {
  test('agrees with a second implementation', () => {
    const { counterexample, errorInstance } = disagreement({});
    expect([counterexample, errorInstance]).toEqual([null, null]);
  });

  test.each([1, 2, 3])('agrees with it where %i records are collected at a time', (together) => {
    const { counterexample, errorInstance } = disagreement({ together });
    expect([counterexample, errorInstance]).toEqual([null, null]);
  });

  // Where some candidates are not scored, those of which terms are left out come last.
  const few = { termsMax: 5 };
  /** The words of most records, and some of their prefixes. */
  const words = { termsMax: 20 };
  test.each([
    ['terms', few],
    ['prefixes', words],
  ])('agrees with it where many records have %s that no index holds', (_, terms) => {
    const { counterexample, errorInstance } = disagreement(terms);
    expect([counterexample, errorInstance]).toEqual([null, null]);
  });
  test.each([
    ['two formats', {}],
    ['two formats, and terms that no index holds', few],
    ['two formats, and prefixes that no index holds', words],
  ])('agrees with it where entries have %s', (_, terms) => {
    const { counterexample, errorInstance } = disagreement({ ...terms, formats: nextFormats });
    expect([counterexample, errorInstance]).toEqual([null, null]);
  });
  test.each([0, 1])('the comparison finds a walk by one of two formats, %i', (at) => {
    const fault = { formats: nextFormats, known: [nextFormats[at]!] };
    expect(disagreement(fault, planted).counterexample).not.toBeNull();
  });
  test('the comparison finds a walk without the records of which terms are left out', () => {
    const walk = (given: CandidateWalk): CandidateWalk =>
      given.source === 'scan' ? given : { ...given, terms: given.terms.slice(0, -1) };
    expect(disagreement({ ...few, walk }, planted).counterexample).not.toBeNull();
  });
  test('the comparison finds a walk without the records of which only prefixes are left out', () => {
    const walk = (given: CandidateWalk): CandidateWalk =>
      given.source === 'scan'
        ? given
        : { ...given, terms: [...given.terms.slice(0, -1), { term: moreTerm([]), held: 0 }] };
    expect(disagreement({ ...words, walk }, planted).counterexample).not.toBeNull();
  });

  const query = (change: (given: LexicalQuery) => Partial<LexicalQuery>): Fault => ({
    query: (given) => ({ ...given, ...change(given) }),
  });
  const reading = (change: (given: CandidateReading) => Partial<CandidateReading>): Fault => ({
    reading: (given) => ({ ...given, ...change(given) }),
  });
  const faults: [string, Fault][] = [
    ['field boosts that are left aside', query(() => ({ fieldBoosts: new Map() }))],
    [
      'prefixes that match whole words alone',
      query(({ isPrefix }) => ({ isPrefix: isPrefix.map(() => false) })),
    ],
    ['required groups that are left aside', query(() => ({ requiredGroups: [] }))],
    ['terms of quoted phrases as alternatives', query(({ terms }) => ({ looseTerms: terms }))],
    ['quoted phrases as single words', query(({ terms }) => ({ phrases: [], looseTerms: terms }))],
    ['the whole query that is no phrase', query(() => ({ whole: '' }))],
    ['any as all', query(() => ({ matchMode: 'all' }))],
    ['a least score in double precision', query(() => ({ minScore: 0.35000000001 }))],
    [
      'a quote without partner that opens a phrase',
      { request: (given) => ({ ...given, query: `${given.query}"` }) },
    ],
    [
      'a walk without its last term',
      {
        walk: (walk) =>
          walk.source === 'scan'
            ? walk
            : { ...walk, terms: [...walk.terms.slice(0, -2), walk.terms.at(-1)!] },
      },
    ],
    ['candidates of one word before those of two', { held: (held) => -held }],
    ['candidates in the order in which they are found', { held: () => 0 }],
    [
      'a walk from the most frequent term on',
      { walk: (walk) => (walk.source === 'scan' ? walk : { ...walk, terms: [...walk.terms].reverse() }) },
    ],
    [
      'a lexicon without its last leaf',
      { lexicon: (lexicon) => lexicon.replace(/\n[^\n]*\n[^\n]*\n$/, '\n') },
    ],
    [
      'phrases that cross leaves',
      { lexicon: (lexicon) => lexicon.replace(/\n([^\n]*)\n\/metadata\/tags\/1\n/, ' $1 ') },
    ],
    ['words of the selected fields that are not counted', reading(() => ({ length: 1 }))],
    [
      'ids that gain no metadata boost',
      reading(({ paths }) => ({ isInMetadata: paths.some((path) => /^\/(metadata|sources)/.test(path)) })),
    ],
    ['a phrase that counts as exact', reading(({ phrases }) => ({ isExact: phrases.length > 0 }))],
    [
      'ties in the order of the store',
      { matches: (matches) => [...matches].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)) },
    ],
    [
      'scores that are not rounded',
      {
        matches: (matches) =>
          matches.map((match) => ({
            ...match,
            score: Math.min(1, match.score + 1e-9 * Number(match.score < 1)),
          })),
      },
    ],
  ];
  test.each(faults)('the comparison finds %s', (_, fault) => {
    expect(disagreement(fault, planted).counterexample).not.toBeNull();
  });
});
