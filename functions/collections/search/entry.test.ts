import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finished } from '../../kernel/turns.ts';
import type { Incarnation } from '../rules/incarnation.ts';
import { type CollectionPolicy, readPolicy } from '../rules/policy.ts';
import { readRecord } from '../rules/record-text.fixture.ts';
import { searchEntryOf } from './entry.ts';
import { leavesOf } from './leaves.ts';
import { LEXICON_BYTES_MAX, lexiconMark, lexiconOf, orderKeyIn } from './lexicon.ts';
import { vectorSlots } from './slots.ts';
import { moreTerm, prefixTerm, TERM_BYTES_MAX, TERMS_MAX, termsOf, wordTerm } from './terms.ts';
import { normalText, wordEnd, wordKinds, wordsInSteps, wordsOf } from './words.ts';

const incarnation = 'a'.repeat(32) as Incarnation;
const policy = readPolicy({ name: 'c' });

function entryOf(record: object, given: CollectionPolicy = policy) {
  const input = readRecord(JSON.stringify({ id: 'i', partitionKey: 'p', ...record }), given);
  const { entry, termsLeftOut } = finished(searchEntryOf(input, given, incarnation));
  return { ...entry, termsLeftOut };
}

/** Without the pauses. */
function allLeaves(text: string, pathMax?: number) {
  return [...leavesOf(text, pathMax)].filter((leaf) => leaf !== null);
}

/** `count` different words of five letters, none of which shares its first three with many. */
function manyWords(count: number): string {
  return Array.from({ length: count }, (_, index) => `${index.toString(36).padStart(4, '0')}z`).join(' ');
}

describe('the words of a text', () => {
  test.each([
    ['', []],
    [' \t\n', []],
    ["The Cat's  whiskers", ['the', 'cat', 's', 'whiskers']],
    ['snake_case v1.50', ['snake', 'case', 'v1', '50']],
    // A mark is no letter: a composed letter is one character, a decomposed one ends a word.
    ['Café', ['café']],
    ['Cafe\u0301s', ['cafe', 's']],
    ['שלום עולם', ['שלום', 'עולם']],
    ['\u202Bשלום\u202C', ['שלום']],
    ['𐐀𐐁 😀a😀', ['𐐨𐐩', 'a']],
    ['٣ ½ Ⅷ', ['٣']],
    ['İI i\u0307 iI İ\u0307x', ['ii', 'i', 'ii', 'ix']],
    ['ΑΣ ας ασ ΑΣΑ αΣα', ['ασ', 'ασ', 'ασ', 'ασα', 'ασα']],
    ['a\0b\uD800c', ['a', 'b', 'c']],
    ['漢字かな', ['漢字かな']],
  ])('of %j are %j', (text, words) => {
    expect(wordsOf(normalText(text))).toEqual(words);
  });

  test('are those of the text in lower case, wherever a letter stands', () => {
    const letters = fc.array(fc.constantFrom(' ', ...'Σ σ ς Α İ I ı i \u0307 \u0300 ẞ ß K . 𐐀'.split(' ')), {
      maxLength: 8,
    });
    const texts = fc.oneof(
      letters.map((each) => each.join('')),
      fc.string({ unit: 'grapheme' }),
    );
    fc.assert(
      fc.property(texts, texts, (before, text) => {
        expect(normalText(text.toLowerCase())).toBe(normalText(text));
        const beside = normalText(`${before} ${text}`);
        expect(beside).toBe(`${normalText(before)} ${normalText(text)}`.trim());
        const folded = normalText(`${before}-${text}`);
        expect(wordsOf(folded)).toEqual([...wordsOf(normalText(before)), ...wordsOf(normalText(text))]);
        expect(normalText(folded)).toBe(folded);
      }),
    );
  });

  test('are found alike by the pattern and by the table', () => {
    const units = fc.string({
      unit: fc.oneof(
        fc.constantFrom('a', ' ', '😀', '𐐀', '1', '_'),
        fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code).toWellFormed()),
      ),
    });
    const read = (text: string) => {
      const words: string[] = [];
      for (let at = 0; at < text.length; ) {
        const end = wordEnd(text, at);
        if (end > at) words.push(text.slice(at, end));
        at = Math.max(end, at + 1);
      }
      return words;
    };
    fc.assert(
      fc.property(units, (text) => {
        expect(read(normalText(text))).toEqual(wordsOf(normalText(text)));
      }),
    );
    expect(wordKinds()).toHaveLength(0x10000);
  });

  test('stand in a text of single spaces', () => {
    expect(normalText('  A\u00A0B \t\r\nC  \u3000d ')).toBe('a b c d');
  });
});

test('the words of a text are the same in steps, wherever a step ends', () => {
  const unit = fc.constantFrom('a', 'é', ' ', '.', '𐐨', '😀', '1');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 20 }), fc.integer({ min: 1, max: 5 }), (text, step) => {
      expect(finished(wordsInSteps(text, step))).toEqual(wordsOf(text));
    }),
  );
});

test.each([8, 9, 10, 11, 12, 15])('paths are cut to %d units, and nothing else changes', (pathMax) => {
  const text = '{"ab~":{"cdefg":[1,[2,{"e":3}],4]},"vectors":{"v":5},"vector":{"s":6},"":7}';
  const cut = allLeaves(text).map(({ path, text: leaf }) => ({
    path: path.slice(0, pathMax),
    text: leaf,
  }));
  expect(allLeaves(text, pathMax)).toEqual(cut);
});

test('the leaves of a record have paths, texts and numbers as they are written', () => {
  const text = String.raw`{"id":"i","n":1.50,"e":-1e2,"t":true,"f":false,"z":null,"a/b~c":"x","":"empty","l":["p",["q",{}],[]],"vectors":{"v":{"values":"AA=="}},"m":{"vectors":"kept","q\"":"\\\"\n"}}`;
  expect(allLeaves(text).map(({ path, text: leaf }) => [path, leaf])).toEqual([
    ['/id', 'i'],
    ['/n', '1.50'],
    ['/e', '-1e2'],
    ['/t', 'True'],
    ['/f', 'False'],
    ['/a~1b~0c', 'x'],
    ['/', 'empty'],
    ['/l/0', 'p'],
    ['/l/1/0', 'q'],
    ['/m/vectors', 'kept'],
    ['/m/q"', '\\"\n'],
  ]);
});

describe('terms', () => {
  test('are whole words and their first three and five characters', () => {
    expect(finished(termsOf([['ab', 'abc', 'abcde', 'abcdef', 'ab']])).terms).toEqual([
      'tab',
      'tabc',
      'tabcde',
      'tabcdef',
      '3abc',
      '5abcde',
    ]);
    expect(finished(termsOf([['𐐨𐐨𐐨𐐨']])).terms).toEqual(['t𐐨𐐨𐐨𐐨', '3𐐨𐐨𐐨']);
  });

  test('of long words are cut at 40 characters', () => {
    expect(wordTerm('x'.repeat(41))).toBe(`t${'x'.repeat(40)}`);
    expect(wordTerm('𐐨'.repeat(41))).toBe(`t${'𐐨'.repeat(40)}`);
    expect(finished(termsOf([['x'.repeat(41), 'x'.repeat(42)]])).terms).toHaveLength(3);
  });

  test.each([
    ['a', null],
    ['ab', null],
    ['𐐨𐐨', null],
    ['abc', '3abc'],
    ['abcd', '3abc'],
    ['abcde', '5abcde'],
    ['abcdef', '5abcde'],
  ])('lead from the prefix %s to %s', (prefix, term) => {
    expect(prefixTerm(prefix)).toBe(term);
  });

  test('of a record are at most 4,000: words before prefixes, short leaves before long ones', () => {
    const { terms, termsLeftOut } = entryOf({ content: manyWords(4_500), metadata: { title: 'last title' } });
    expect(terms).toHaveLength(TERMS_MAX);
    expect(terms.slice(0, 4)).toEqual(['ti', 'tp', 'tlast', 'ttitle']);
    expect(termsLeftOut).toBeGreaterThan(500);
    const leaves = [['i'], ['p'], ['last', 'title'], manyWords(4_500).split(' ')];
    const all = finished(termsOf(leaves, Infinity, Infinity));
    const kept = all.terms.slice(0, TERMS_MAX - 2);
    expect(kept.every((term) => term.startsWith('t'))).toBe(true);
    expect(terms).toEqual([...kept, 'morewords', 'moreprefixes']);
    expect(termsLeftOut).toBe(all.terms.length - kept.length);
  });

  test('of a record are fewer where its keys are long: the order key stands beside each in the index', () => {
    const ofKeys = (partitionKey: string, id: string) =>
      entryOf({ partitionKey, id, content: manyWords(4_500) });
    const usual = ofKeys('p'.repeat(49), 'i'.repeat(50));
    expect([usual.terms.length, Buffer.byteLength(usual.orderKey)]).toEqual([TERMS_MAX, 100]);
    const longer = ofKeys('p'.repeat(50), 'i'.repeat(50));
    expect(longer.terms).toHaveLength(3_992);
    expect(longer.terms.slice(-2)).toEqual(['morewords', 'moreprefixes']);
    const longest = ofKeys('語'.repeat(682), 'é'.repeat(511));
    expect(Buffer.byteLength(longest.orderKey)).toBeLessThanOrEqual(768);
    // Firestore takes 2 MiB of index entries.
    expect(longest.terms.length * (400 + Buffer.byteLength(longest.orderKey))).toBeLessThan(2_000_000);
    expect(longest.terms.length).toBeGreaterThan(1_700);
  });

  test('say whether whole words or only prefixes are left out', () => {
    const leaves = [['abc', 'abd', 'abe', 'abf']];
    const of = (termsMax: number) => finished(termsOf(leaves, Infinity, termsMax));
    expect(of(8)).toMatchObject({ terms: { length: 8 }, leftOut: 0 });
    expect(of(8).terms.at(-1)).toBe('3abf');
    expect(of(7)).toEqual({ terms: ['tabc', 'tabd', 'tabe', 'tabf', '3abc', 'moreprefixes'], leftOut: 3 });
    expect(of(6)).toEqual({ terms: ['tabc', 'tabd', 'tabe', 'tabf', 'moreprefixes'], leftOut: 4 });
    expect(of(5)).toEqual({ terms: ['tabc', 'tabd', 'tabe', 'morewords', 'moreprefixes'], leftOut: 5 });
    expect(finished(termsOf(leaves, 0)).terms).toEqual(['morewords', 'moreprefixes']);
    expect([moreTerm(['tabc']), moreTerm([]), moreTerm(['tabc', '3abc'])]).toEqual([
      'morewords',
      'morewords',
      'moreprefixes',
    ]);
  });

  test('of a record have at most 64 KiB', () => {
    const wide = Array.from({ length: 1_000 }, (_, index) => `${'漢'.repeat(36)}${index + 1_000}`);
    const { terms, termsLeftOut } = entryOf({ content: wide.join(' ') });
    const bytes = terms.reduce((sum, term) => sum + Buffer.byteLength(term) + 1, 0);
    expect(bytes).toBeLessThanOrEqual(TERM_BYTES_MAX);
    expect(bytes).toBeGreaterThan(TERM_BYTES_MAX - 200);
    expect(termsLeftOut).toBe(1_000 + 4 - (terms.length - 2));
  });

  test('leave none out of an ordinary record', () => {
    expect(entryOf({ content: manyWords(200) }).termsLeftOut).toBe(0);
  });
});

describe('a lexicon', () => {
  test('has a line for the order key, and two for each leaf', () => {
    const { lexicon, group, terms } = entryOf({
      content: ' Two\nLines ',
      metadata: { 'a\nb\\': 'x', blank: ' ' },
    });
    expect(lexicon).toBe(
      '=p\u0001i\n/id\n1 i\n/partitionKey\n1 p\n/content\n2 two lines\n/metadata/a\\nb\\\\\n1 x\n',
    );
    expect(group).toBe(incarnation);
    expect(terms).toEqual(['ti', 'tp', 'tx', 'ttwo', 'tlines', '3two', '3lin', '5lines']);
  });

  test.each(['p\u0001i', 'p\n\u0001i', '\\n\u0001\\', '😀\u0001\uE000'])(
    'gives the order key %j back',
    (key) => {
      expect(orderKeyIn(lexiconOf(key, []))).toBe(key);
      expect(orderKeyIn(lexiconMark(key))).toBe(key);
    },
  );

  test('of more than 64 KiB is a mark', () => {
    const rest = Buffer.byteLength(entryOf({ content: 'x' }).lexicon) - 1;
    const most = entryOf({ content: 'x'.repeat(LEXICON_BYTES_MAX - rest) });
    expect(Buffer.byteLength(most.lexicon)).toBe(LEXICON_BYTES_MAX);
    expect(entryOf({ content: 'x'.repeat(LEXICON_BYTES_MAX - rest + 1) }).lexicon).toBe('~p\u0001i\n');
  });

  test('of many leaves below a long name is a mark, of which no line was made', () => {
    // All lines together would be longer than a string may be.
    const { lexicon, terms } = entryOf({ content: 'ab', ['k'.repeat(10_000)]: Array(60_000).fill(1) });
    expect(lexicon).toBe('~p\u0001i\n');
    expect(terms).toEqual(['ti', 'tp', 'tab', 't1']);
  });

  test('holds nothing that a store cannot hold', () => {
    const { lexicon } = entryOf({ content: 'a\0b \uD800', metadata: { '\0\uDFFF': 'x' } });
    expect(lexicon).toContain('/content\n2 a\uFFFDb \uFFFD\n/metadata/\uFFFD\uFFFD\n1 x\n');
    expect(lexicon.isWellFormed()).toBe(true);
  });

  test('terms of the largest records leave room for the indexes in a document of 1 MiB', () => {
    const wide = Array.from({ length: 20_000 }, (_, index) => `${'漢'.repeat(12)}${index + 10_000}`).join(
      ' ',
    );
    const content = wide.slice(0, 290_000);
    const { terms, lexicon } = entryOf({ content });
    const bytes = Buffer.byteLength(terms.join(' ')) + 1 + Buffer.byteLength(lexicon);
    expect(Buffer.byteLength(content) + bytes).toBeLessThan(1_000_000);
    expect(terms.length).toBeGreaterThan(1_000);
  });
});

describe('the slots of vectors', () => {
  const vectorPolicy = (name: string, dimensions: number, distanceFunction?: string) => ({
    name,
    path: `/vectors/${name}/values`,
    dimensions,
    ...(distanceFunction === undefined ? {} : { distanceFunction }),
  });

  test('have the dimensions and a letter, in the order of the policy', () => {
    const given = readPolicy({
      name: 'c',
      vectorPolicies: [
        vectorPolicy('z', 3),
        vectorPolicy('y', 2, 'DOTPRODUCT'),
        vectorPolicy('x', 3, 'euclidean'),
      ],
    });
    expect([...vectorSlots(given)]).toEqual([
      ['z', { slot: '3a', metric: 'cosine', dimensions: 3 }],
      ['y', { slot: '2a', metric: 'dotProduct', dimensions: 2 }],
      ['x', { slot: '3b', metric: 'euclidean', dimensions: 3 }],
    ]);
    const vectors = { x: { values: [1, 2, 3], distanceFunction: 'euclidean' }, z: { values: [0.1, 0, 0] } };
    expect(entryOf({ vectors }, given).vectors).toEqual([
      { slot: '3a', metric: 'cosine', values: Float32Array.of(0.1, 0, 0) },
      { slot: '3b', metric: 'euclidean', values: Float32Array.of(1, 2, 3) },
    ]);
  });

  test('go on behind z', () => {
    const vectorPolicies = Array.from({ length: 54 }, (_, index) => vectorPolicy(`v${index}`, 1));
    const slots = [...vectorSlots(readPolicy({ name: 'c', vectorPolicies })).values()].map(
      ({ slot }) => slot,
    );
    expect([slots[25], slots[26], slots[51], slots[52], slots[53]]).toEqual([
      '1z',
      '1aa',
      '1az',
      '1ba',
      '1bb',
    ]);
    expect(new Set(slots).size).toBe(54);
  });
});
