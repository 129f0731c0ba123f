import { describe, expect, test } from 'vitest';
import { finish } from '../../../../test/support/finish.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { firstOverlap, recordMatches } from './matches.ts';
import { type JudgedRecord, judgedRecord, type MatchRequest } from './matching.ts';

const isMatch = (match: MatchRequest, record: JudgedRecord) =>
  finish(recordMatches([match], [record]))[0]?.[0];
const isOverlap = (one: MatchRequest, other: MatchRequest) => finish(firstOverlap([one], [other])) === 0;

const place = { collection: 'books', partitionKey: '2026', id: 'r-1' };
const span = { charStart: 10, charEnd: 50, line: 3, anchor: 'top' };
const record: { readonly [member: string]: Json } = {
  metadata: {
    alias: 'al-1',
    containedIds: ['v-1', 'v-2', 7],
    verseId: 'v-3',
    title: 'not-a-name',
  },
  sources: [{ id: 's-1', kind: 'book', uri: 'urn:x', span }, { id: 's-2' }],
};
const judged = judgedRecord(place, record);

describe('an expected match', () => {
  test.each<[string, MatchRequest, boolean]>([
    ['the id', { id: 'r-1' }, true],
    ['another id', { id: 'r-2' }, false],
    ['the id in the right place', { id: 'r-1', collection: 'books', partitionKey: '2026' }, true],
    ['the id in another collection', { id: 'r-1', collection: 'films' }, false],
    ['the id in another partition', { id: 'r-1', partitionKey: '2025' }, false],
    ['one alias of several', { aliases: ['x', 'al-1'] }, true],
    ['an id that the record contains', { id: 'v-2' }, true],
    ['a verse', { aliases: ['v-3'] }, true],
    ['a word of other metadata', { id: 'not-a-name' }, false],
    ['the id of a source', { sourceIds: ['s-2'] }, true],
    ['the id of a source as a source', { sources: [{ id: 's-2' }] }, true],
    ['kind and uri of a source', { sources: [{ kind: 'book', uri: 'urn:x' }] }, true],
    ['kind and another uri', { sources: [{ kind: 'book', uri: 'urn:y' }] }, false],
    ['a span within', { sources: [{ kind: 'book', span: { charStart: 10, charEnd: 20 } }] }, true],
    [
      'a span that begins before',
      { sources: [{ kind: 'book', span: { charStart: 9, charEnd: 20 } }] },
      false,
    ],
    ['a span that ends behind', { sources: [{ kind: 'book', span: { charStart: 10, charEnd: 51 } }] }, false],
    ['the line and the anchor', { sources: [{ span: { line: 3, anchor: 'top' } }] }, true],
    ['another line', { sources: [{ kind: 'book', span: { line: 4 } }] }, false],
    ['a column that the record does not name', { sources: [{ kind: 'book', span: { column: 1 } }] }, false],
    ['a source that says nothing', { id: 'x', sources: [{ label: 'Book' }] }, false],
  ])('with %s', (_, match, expected) => {
    expect(isMatch(match, judged)).toBe(expected);
  });

  test('matches no record by accident', () => {
    const bare = judgedRecord({ ...place, id: 'bare' }, { metadata: null, sources: null });
    expect(isMatch({ id: 'other', sources: [{ kind: 'book' }] }, bare)).toBe(false);
    const odd = judgedRecord({ ...place, id: 'odd' }, { metadata: ['alias'], sources: [null, 'x', ['y']] });
    expect([...odd.names]).toEqual(['odd']);
  });
});

describe('a hard negative', () => {
  test.each<[string, MatchRequest, MatchRequest, boolean]>([
    ['of the same id', { id: 'a' }, { id: 'a' }, true],
    ['of an alias that is the id', { id: 'a' }, { aliases: ['b', 'a'] }, true],
    ['of another id', { id: 'a' }, { id: 'b' }, false],
    ['of the id in another collection', { id: 'a', collection: 'x' }, { id: 'a', collection: 'y' }, false],
    ['of the id in one collection', { id: 'a', collection: 'x' }, { id: 'a' }, true],
    ['of the id in another partition', { id: 'a', partitionKey: 'x' }, { id: 'a', partitionKey: 'y' }, false],
    ['of a source within', { sources: [{ uri: 'u' }] }, { sources: [{ uri: 'u', kind: 'k' }] }, true],
  ])('%s may be an expected match: %s', (_, right, wrong, expected) => {
    expect(isOverlap(right, wrong)).toBe(expected);
    expect(isOverlap(wrong, right)).toBe(expected);
  });
});
