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

describe('dates decide where no tags are given (RFC 9110 sections 13.1.3 and 13.1.4)', () => {
  const writtenAt = Date.UTC(1994, 10, 6, 8, 49, 37, 900);
  const same = [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ];
  const older = 'Sun, 06 Nov 1994 08:49:36 GMT';
  const younger = 'Sun, 06 Nov 1994 08:49:38 GMT';
  test.each<[Conditions, string]>([
    ...same.map((date): [Conditions, string] => [{ ifModifiedSince: date }, 'matched']),
    ...same.map((date): [Conditions, string] => [{ ifUnmodifiedSince: date }, 'held']),
    [{ ifModifiedSince: older }, 'held'],
    [{ ifModifiedSince: younger }, 'matched'],
    [{ ifUnmodifiedSince: older }, 'unmatched'],
    [{ ifUnmodifiedSince: younger }, 'held'],
    // Beside tags they are ignored.
    [{ ifModifiedSince: younger, ifNoneMatch: '"2"' }, 'held'],
    [{ ifUnmodifiedSince: older, ifMatch: '"1"' }, 'held'],
    // A field without a valid date is ignored.
    ...[
      '1994-11-06T08:49:37Z',
      '784111777',
      'Sun, 06 Nov 1994 08:49:37 CET',
      'Sun, 40 Nov 1994 08:49:37 GMT',
    ].map((date): [Conditions, string] => [{ ifModifiedSince: date, ifUnmodifiedSince: date }, 'held']),
  ])('%j: %s', (conditions, judgement) => {
    expect(judgeConditions('1', conditions, writtenAt)).toBe(judgement);
    // A content whose answers have no date.
    expect(judgeConditions('1', { ...conditions, ifMatch: null, ifNoneMatch: null })).toBe('held');
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
