import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../kernel/errors.ts';
import { asked } from './evaluation.fixture.ts';
import { type CaseRequest, readComparison, readEvaluation, withVariant } from './request.ts';

function refusal(act: () => unknown) {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.code, error.extensions.errors?.[0]?.pointer];
  }
}

const invalid = 'validation_failed';
const exceeded = 'limit_exceeded';
const many = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item);
const one = (own: Partial<CaseRequest>) => ({ cases: [{ ...asked(['a']), ...own }] });

describe('an evaluation', () => {
  test.each<[string, Parameters<typeof readEvaluation>[0], unknown]>([
    ['no case', { cases: [] }, [invalid, '/cases']],
    ['200 cases', { cases: many(200, asked(['a'])) }, null],
    ['201 cases', { cases: many(201, asked(['a'])) }, [exceeded, '/cases']],
    ['a k of 0', { ...one({}), defaultK: 0 }, [invalid, '/defaultK']],
    ['a k of 101', { ...one({}), defaultK: 101 }, [exceeded, '/defaultK']],
    ['a k of 101 in a case', one({ k: 101 }), [exceeded, '/cases/0/k']],
    ['nothing expected', one({ expected: [] }), [invalid, '/cases/0/expected']],
    ['100 expected', one({ expected: many(100, { id: 'a' }) }), null],
    ['101 expected', one({ expected: many(101, { id: 'a' }) }), [exceeded, '/cases/0/expected']],
    [
      '201 hard negatives',
      one({ hardNegatives: many(201, { id: 'a' }) }),
      [exceeded, '/cases/0/hardNegatives'],
    ],
    ['an expected match of no name', one({ expected: [{ id: ' ' }] }), [invalid, '/cases/0/expected/0']],
    [
      'a source that says nothing',
      one({ expected: [{ sources: [{ label: 'Book' }] }] }),
      [invalid, '/cases/0/expected/0'],
    ],
    ['a source that says something', one({ expected: [{ sources: [{ kind: 'book' }] }] }), null],
    [
      'a hard negative of no name',
      one({ hardNegatives: [{ reason: 'x' }] }),
      [invalid, '/cases/0/hardNegatives/0'],
    ],
    [
      '101 aliases',
      one({ expected: [{ aliases: many(101, 'a') }] }),
      [exceeded, '/cases/0/expected/0/aliases'],
    ],
    [
      'a relevance of 0',
      one({ expected: [{ id: 'a', relevance: 0 }] }),
      [invalid, '/cases/0/expected/0/relevance'],
    ],
    ['a hard negative that is expected: that case fails alone', { cases: [asked(['a'], ['a'])] }, null],
  ])('with %s', (_, request, expected) => {
    expect(refusal(() => readEvaluation(request))).toEqual(expected);
  });

  test('continues after a failure and shows results by default', () => {
    expect(readEvaluation(one({}))).toMatchObject({
      continueOnError: true,
      includeTopResults: true,
      defaultK: null,
    });
  });
});

describe('a comparison', () => {
  test.each([
    ['no variant', [], [invalid, '/variants']],
    ['12 variants', many(12, '').map((_, at) => ({ id: `v${at}` })), null],
    ['13 variants', many(13, '').map((_, at) => ({ id: `v${at}` })), [exceeded, '/variants']],
    ['a blank id', [{ id: ' ' }], [invalid, '/variants/0/id']],
    ['equal ids', [{ id: 'a' }, { id: 'b' }, { id: 'a' }], [invalid, '/variants/2/id']],
  ])('with %s', (_, variants, expected) => {
    expect(refusal(() => readComparison({ ...one({}), variants }))).toEqual(expected);
  });

  test('shows neither results nor cases by default', () => {
    expect(readComparison({ ...one({}), variants: [{ id: 'a' }] })).toMatchObject({
      includeTopResults: false,
      includeCaseResults: false,
    });
  });

  test('replaces the members of a case that the variant names', () => {
    const request = { query: 'q', collections: ['c'], limit: 3, minScore: 0.5 };
    const variant = { id: 'v', label: 'V', profile: 'evidence', limit: null, collections: ['d'] };
    expect(withVariant(request, variant)).toEqual({
      query: 'q',
      collections: ['d'],
      limit: 3,
      minScore: 0.5,
      profile: 'evidence',
    });
  });

  test('keeps the question of a case with any other members of a variant', () => {
    const request = { query: 'q', collections: ['c'] };
    const variant = { id: 'v', query: 'another question', unknown: 1, includeTrace: true };
    expect(withVariant(request, variant)).toEqual({ ...request, includeTrace: true });
  });
});
