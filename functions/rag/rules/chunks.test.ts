import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChunkSpan, chunkSpans } from './chunks.ts';
import { isBlank, skipWhiteSpace, splitsCodePoint } from './white-space.ts';

const cut = (text: string, chunkChars: number, overlapChars = 0) =>
  [...chunkSpans(text, { chunkChars, overlapChars })].map(({ start, end }) => text.slice(start, end));

describe('a chunk ends', () => {
  test.each<[where: string, text: string, chunks: string[]]>([
    ['at the last blank line', 'aaaaaa\n\nbb\ncc. d eeeeeeeeee', ['aaaaaa', 'bb\ncc. d', 'eeeeeeeeee']],
    ['at a blank line of Windows', 'aaaaaaaa\r\n\r\nb\r\nc. d eeeeee', ['aaaaaaaa', 'b\r\nc. d', 'eeeeee']],
    ['at the last line end', 'aaaaaaaa\nb. cccccccc', ['aaaaaaaa', 'b. cccccccc']],
    ['behind the last sentence', 'aaaaaaaa! bb cc dddd', ['aaaaaaaa!', 'bb cc dddd']],
    ['at the last white space', 'aaaaaaaa bb.cc dddd', ['aaaaaaaa', 'bb.cc dddd']],
    ['where it is full', 'aaaaaaaaaabbbbbbbbbbc', ['aaaaaaaaaabb', 'bbbbbbbbc']],
  ])('%s', (_, text, chunks) => {
    expect(cut(text, 12)).toEqual(chunks);
  });

  test('after a sentence that fills it', () => {
    expect(cut('aa bb ccc. dddd', 10)).toEqual(['aa bb ccc.', 'dddd']);
  });

  test('in its second half: an earlier break does not count', () => {
    expect(cut('a.\n\nbcdefghijklm', 10)).toEqual(['a.\n\nbcdefg', 'hijklm']);
  });

  test('with the text, not with its white space', () => {
    expect(cut('abc. \n\t\u0085\u3000', 4, 3)).toEqual(['abc.']);
    expect(cut(' \n', 4)).toEqual([]);
  });
});

test('a chunk repeats the end of the one before', () => {
  expect(cut('abcdefghij', 4, 2)).toEqual(['abcd', 'cdef', 'efgh', 'ghij']);
  expect(cut('abcdef', 3, 2)).toEqual(['abc', 'bcd', 'cde', 'def']);
});

test('no chunk splits a code point, even if its size would', () => {
  expect(cut('😀😀😀', 1)).toEqual(['😀', '😀', '😀']);
  expect(cut('a😀b😀', 2)).toEqual(['a', '😀', 'b', '😀']);
  expect(cut('ab😀cd', 4, 2)).toEqual(['ab😀', '😀cd']);
  expect(cut('ab😀cd', 4, 1)).toEqual(['ab😀', 'cd']);
});

test('the zero-width space of a byte order mark is text, and the next-line control is white space', () => {
  expect(isBlank('\u0085\u2003')).toBe(true);
  expect(isBlank('\ufeff')).toBe(false);
});

const texts = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('word', 'a', 'é', '😀', 'sentence.', 'end!') },
      { weight: 4, arbitrary: fc.constantFrom(' ', '\n', '\n\n', '\r\n', '\t', '\u3000') },
    ),
    { maxLength: 120 },
  )
  .map((parts) => parts.join(''));
const shapes = fc.integer({ min: 1, max: 40 }).chain((chunkChars) =>
  fc.record({
    chunkChars: fc.constant(chunkChars),
    overlapChars: fc.integer({ min: 0, max: chunkChars - 1 }),
  }),
);

/** The first fault in the chunks of a text; `null`: none. */
function faultOf(text: string, shape: { chunkChars: number; overlapChars: number }, spans: ChunkSpan[]) {
  let covered = 0;
  let before: ChunkSpan | null = null;
  for (const span of spans) {
    const { start, end } = span;
    const chunk = text.slice(start, end);
    if (start >= end) return 'empty';
    if (chunk !== chunk.trim()) return 'white space at an end';
    if (splitsCodePoint(text, start) || splitsCodePoint(text, end)) return 'a split code point';
    const isOnePair = chunk.length === 2 && splitsCodePoint(text, start + 1);
    if (chunk.length > shape.chunkChars && !isOnePair) return 'too long';
    if (skipWhiteSpace(text, covered) < start) return 'text left out';
    if (before !== null) {
      const due = Math.max(before.start + 1, before.end - shape.overlapChars);
      const from = splitsCodePoint(text, due) ? due + 1 : due;
      if (start !== skipWhiteSpace(text, from)) return 'another overlap';
    }
    covered = Math.max(covered, end);
    before = span;
  }
  return isBlank(text.slice(covered)) ? null : 'the end left out';
}

const holds = (spansOf: typeof chunkSpans) =>
  !fc.check(
    fc.property(texts, shapes, (text, shape) => faultOf(text, shape, [...spansOf(text, shape)]) === null),
    { numRuns: 5_000 },
  ).failed;

test('chunks cover the text, overlap as requested and keep to their size', () => {
  expect(holds(chunkSpans)).toBe(true);
});

test('and the comparison finds a lost end, a lost overlap and a split code point', () => {
  const faulty = (change: (spans: ChunkSpan[], text: string) => ChunkSpan[]) =>
    function* (text: string, shape: { chunkChars: number; overlapChars: number }) {
      yield* change([...chunkSpans(text, shape)], text);
    };
  expect(holds(faulty((spans) => spans.slice(0, -1)))).toBe(false);
  expect(holds(faulty((spans) => spans.filter((_, at) => at !== 1)))).toBe(false);
  expect(holds(faulty((spans) => spans.map(({ start, end }) => ({ start, end: end - 1 }))))).toBe(false);
});

test('a text of two million characters is cut in short steps, also if it is white space', () => {
  const { length } = [
    ...chunkSpans('A sentence of some words. '.repeat(76_000), { chunkChars: 1_200, overlapChars: 150 }),
  ];
  expect(length).toBeGreaterThan(1_500);
  const gaps = `${'a'.repeat(49_000)}${' '.repeat(1_900_000)}b`;
  const spans = [...chunkSpans(gaps, { chunkChars: 50_000, overlapChars: 0 })];
  expect(spans).toEqual([
    { start: 0, end: 49_000 },
    { start: 1_949_000, end: 1_949_001 },
  ]);
});
