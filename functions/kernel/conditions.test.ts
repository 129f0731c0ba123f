import { describe, expect, test } from 'vitest';
import { type Conditions, holdsIfRange, judgeConditions } from './conditions.ts';

/** The rows of RFC 9110 section 8.8.3.2: two tags, whether they match strongly, and whether they match weakly. */
const comparisons = [
  ['"1"', '1', true, true],
  ['W/"1"', '1', false, true],
  ['W/"2"', '1', false, false],
  ['"2"', '1', false, false],
  // A tag as JSON shows it.
  ['1', '1', true, true],
  ['W/1', '1', false, true],
  [' "1"\t', '1', true, true],
  // Lists, with commas in tags, and empty elements.
  ['"2", "1"', '1', true, true],
  ['"2",W/"1"', '1', false, true],
  [', ,"2" , "1",', '1', true, true],
  ['2, 1', '1', true, true],
  ['"2,1,3"', '1', false, false],
  ['"2,1"', '2,1', true, true],
  ['"2, W/1"', '1', false, false],
  // Opaque: case counts, also of the mark of weakness, and escapes mean nothing.
  ['"A"', 'a', false, false],
  ['w/"1"', '1', false, false],
  [String.raw`"\1"`, '1', false, false],
  ['"*"', '1', false, true],
  // No tags at all.
  ['', '1', false, false],
  ['  ', '1', false, false],
  ['"', '1', false, false],
  ['"1', '1', false, false],
  ['1"', '1', false, false],
  ['""1""', '1', false, false],
  ['"1" "2"', '1', false, false],
  ['"1", "', '1', false, false],
] as const;

describe('tags are compared as RFC 9110 section 8.8.3.2 says', () => {
  test.each(comparisons)('%j with the current %j', (field, etag, strong, weak) => {
    expect(judgeConditions(etag, { ifMatch: field })).toBe(strong ? 'held' : 'unmatched');
    expect(judgeConditions(etag, { ifNoneMatch: field })).toBe(weak ? 'matched' : 'held');
    // Where there is nothing, no tag matches.
    expect(judgeConditions(null, { ifMatch: field })).toBe('unmatched');
    expect(judgeConditions(null, { ifNoneMatch: field })).toBe('held');
  });
});

describe('conditions are judged in the order of RFC 9110 section 13.2.2', () => {
  test.each<[string | null, Conditions, string]>([
    ['1', {}, 'held'],
    [null, {}, 'held'],
    ['1', { ifMatch: null, ifNoneMatch: null }, 'held'],
    ['1', { ifMatch: '*' }, 'held'],
    [null, { ifMatch: '*' }, 'unmatched'],
    ['1', { ifNoneMatch: ' * ' }, 'matched'],
    [null, { ifNoneMatch: '*' }, 'held'],
    // An asterisk in a list names nothing, and still guards what is there.
    ['1', { ifMatch: '*, "2"' }, 'unmatched'],
    ['1', { ifNoneMatch: '"2", *' }, 'matched'],
    ['1', { ifNoneMatch: '*, *' }, 'matched'],
    // If-Match first; only where it holds, If-None-Match decides.
    ['1', { ifMatch: '"2"', ifNoneMatch: '"1"' }, 'unmatched'],
    ['1', { ifMatch: '"2"', ifNoneMatch: '"3"' }, 'unmatched'],
    ['1', { ifMatch: '"1"', ifNoneMatch: '"1"' }, 'matched'],
    ['1', { ifMatch: '"1"', ifNoneMatch: '"2"' }, 'held'],
    [null, { ifMatch: '*', ifNoneMatch: '*' }, 'unmatched'],
  ])('of %j: %j', (etag, conditions, judgement) => {
    expect(judgeConditions(etag, conditions)).toBe(judgement);
  });
});

describe('a range is wanted of the same bytes alone (RFC 9110 section 13.1.5)', () => {
  test.each([
    [undefined, true],
    [null, true],
    ['"1"', true],
    ['1', true],
    ['W/"1"', false],
    ['"2"', false],
    ['"1", "2"', false],
    ['"2", "1"', false],
    ['*', false],
    ['', false],
    ['Sun, 22 Nov 2026 20:00:00 GMT', false],
  ])('If-Range: %j', (field, isWanted) => {
    expect(holdsIfRange(field, '1')).toBe(isWanted);
    expect(holdsIfRange(field, null)).toBe(field === undefined || field === null);
  });
});
