import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FirstItems } from './first-items.ts';
import { offsetToken, readPageRequest } from './offset-page.ts';

const fault = (pointer: string, code = 'validation_failed') =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });

describe('the first items', () => {
  type Make = (countMax: number) => FirstItems<number>;
  const make: Make = (countMax) => new FirstItems(countMax, (a, b) => a - b);
  const takeAll = (first: FirstItems<number>) => {
    const taken: (number | undefined)[] = [];
    while (first.kept > 0) taken.unshift(first.takeLast());
    return taken;
  };
  const disagreement = (other: Make) =>
    fc.check(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }),
        fc.nat(12),
        (items, countMax) => {
          const first = other(countMax);
          for (const item of items) first.offer(item);
          expect(first.kept).toBe(Math.min(items.length, countMax));
          expect(takeAll(first)).toEqual(items.toSorted((a, b) => a - b).slice(0, countMax));
          expect(first.offered).toBe(items.length);
        },
      ),
      { numRuns: 3_000 },
    ).counterexample;

  test('are those of the whole list, sorted', () => {
    expect(disagreement(make)).toBeNull();
    const all = new FirstItems<number>(Number.POSITIVE_INFINITY, (a, b) => b - a);
    for (let item = 0; item < 100; item++) all.offer(item);
    expect(takeAll(all).slice(0, 2)).toEqual([99, 98]);
  });

  test('the comparison finds one that keeps the first offered', () => {
    class FirstOffered extends FirstItems<number> {
      override offer(item: number): number | undefined {
        return this.offered < 3 ? super.offer(item) : item;
      }
    }
    expect(disagreement((countMax) => new FirstOffered(countMax, (a, b) => a - b))).not.toBeNull();
  });
});

describe('a page', () => {
  test('has a token of the decimal offset in base64', () => {
    expect(offsetToken(50)).toBe('NTA=');
    expect(readPageRequest(10, 'NTA=')).toEqual({ offset: 50, limit: 10 });
    expect(readPageRequest(null, null)).toEqual({ offset: 0, limit: null });
    expect(readPageRequest(undefined, 'MA==')).toEqual({ offset: 0, limit: null });
  });

  test.each([0, -1, 1.5, Number.NaN])('has no limit of %j', (limit) => {
    expect(() => readPageRequest(limit, null)).toThrow(fault('/limit'));
  });

  const other = (text: string) => Buffer.from(text).toString('base64');
  test.each([
    '',
    ' ',
    '-1',
    'NTA',
    'NTA=\n',
    '%%%',
    ...['-1', '+1', '01', '1.5', '1e3', ' 1', '0x10', '', 'abc', '9007199254740993', 'Infinity'].map(other),
  ])('refuses the token %j', (token) => {
    expect(() => readPageRequest(1, token)).toThrow(
      fault('/continuationToken', 'continuation_token_invalid'),
    );
  });

  test('the token of a page leads back to its offset', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (offset) => {
        expect(readPageRequest(1, offsetToken(offset))).toEqual({ offset, limit: 1 });
      }),
    );
  });
});
