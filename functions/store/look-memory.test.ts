import { describe, expect, test } from 'vitest';
import { firstLook, listQuestion } from './list-plan.ts';
import { LookMemory } from './look-memory.ts';
import type { ListSelection } from './port.ts';

const documents = { name: 'documents', pairedIndexes: true } as const;
const limit = 20;
const scope = 'tenants/one';

function asked(equal: Record<string, string>, more: Partial<ListSelection> = {}) {
  const question = listQuestion({
    by: 'list',
    collection: documents,
    group: 'order',
    limit,
    equal,
    orderBy: 'amount',
    ...more,
  });
  if (question === undefined) throw new Error('a question that nothing matches');
  return question;
}

const rare = asked({ status: 'rare' });
const open = asked({ status: 'open' });

/** Pages of one question, and for each the rows of its look: a look finds the page where `share` of its rows suffices. */
function pages(
  looks: LookMemory,
  count: number,
  share: number,
  question = rare,
  of = scope,
): (number | undefined)[] {
  return Array.from({ length: count }, () => {
    const look = firstLook(looks, of, question);
    if (look === undefined) return undefined;
    const matched = Math.floor(look.rows * share);
    if (matched > limit) look.advice.filled();
    else look.advice.missed(look.rows, matched);
    return look.rows;
  });
}

const none = (count: number): undefined[] => Array.from({ length: count }, () => undefined);

describe('the memory of first looks', () => {
  test('a poor look is skipped for fifteen pages and tried at the sixteenth', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    expect(pages(looks, 34, 0.01)).toEqual([42, ...none(15), 42, ...none(15), 42, undefined]);
  });

  test('a look that finds its page stays', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    expect(pages(looks, 40, 0.9)).toEqual(Array.from({ length: 40 }, () => 42));
  });

  test('where one row in three matches the next looks are wider', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    expect(pages(looks, 4, 1 / 3)).toEqual([42, 105, 105, 105]);
    expect(pages(looks, 3, 0.01)).toEqual([105, undefined, undefined]);
  });

  test('one width alone has no wider one', () => {
    const looks = new LookMemory({ first: 5, wide: 5 });
    expect(pages(looks, 2, 1 / 6)).toEqual([105, undefined]);
  });

  test('the looks resume when the documents have changed', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    expect(pages(looks, 16, 0.01)).toEqual([42, ...none(15)]);
    expect(pages(looks, 3, 0.9)).toEqual([42, 42, 42]);
  });

  test('values are remembered separately, and scopes and orders too', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    expect(pages(looks, 2, 0.01)).toEqual([42, undefined]);
    expect(pages(looks, 2, 0.9, open)).toEqual([42, 42]);
    expect(pages(looks, 1, 0.9, rare, 'tenants/two')).toEqual([42]);
    expect(pages(looks, 1, 0.9, asked({ status: 'rare' }, { orderBy: 'name' }))).toEqual([42]);
    expect(pages(looks, 1, 0.9, asked({ status: 'rare' }, { direction: 'descending' }))).toEqual([42]);
    expect(pages(looks, 1, 0.9, asked({ status: 'rare' }, { group: 'bill' }))).toEqual([42]);
    expect(pages(looks, 1, 0.9, asked({ status: 'rare' }, { includeHidden: true }))).toEqual([42]);
  });

  test('the bounds of a range and the place of a page do not count', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    const ranged = (from: string, more: Partial<ListSelection> = {}) =>
      asked({ status: 'rare' }, { range: { index: 'size', from }, ...more });
    expect(pages(looks, 1, 0.01, ranged('1'))).toEqual([42]);
    expect(pages(looks, 1, 0.01, ranged('2'))).toEqual([undefined]);
    expect(pages(looks, 1, 0.01, ranged('2', { limit: 5 }))).toEqual([undefined]);
  });

  test('after four poor looks by the same fields new values get none, except each sixteenth', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    const seen = Array.from({ length: 21 }, (_, n) => pages(looks, 1, 0.01, asked({ owner: `${n}` }))[0]);
    expect(seen).toEqual([42, 42, 42, 42, ...none(15), 42, undefined]);
    expect(pages(looks, 1, 0.9, open)).toEqual([42]);
  });

  test('a good look for new values counts for other values; one for known values counts for these alone', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    const owned = (owner: string, share: number) => pages(looks, 1, share, asked({ owner }))[0];
    expect([owned('a', 0.01), owned('b', 0.01), owned('c', 0.01)]).toEqual([42, 42, 42]);
    expect(owned('many', 0.9)).toBe(42);
    expect([owned('d', 0.01), owned('e', 0.01), owned('f', 0.01)]).toEqual([42, 42, 42]);
    expect(owned('many', 0.9)).toBe(42);
    expect([owned('g', 0.01), owned('h', 0.01)]).toEqual([42, undefined]);
    expect(owned('many', 0.9)).toBe(42);
  });

  test('the questions of a scope that were asked last are kept', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    pages(looks, 1, 0.01);
    const others = (from: number, to: number) => {
      for (let n = from; n < to; n += 1) pages(looks, 1, 0.01, asked({ [`field-${n}`]: 'x' }));
    };
    others(0, 63);
    expect(pages(looks, 1, 0.01)).toEqual([undefined]);
    others(63, 127);
    expect(pages(looks, 1, 0.01)).toEqual([42]);
  });

  test('the scopes that asked last are kept', () => {
    const looks = new LookMemory({ first: 2, wide: 5 });
    pages(looks, 1, 0.01);
    for (let n = 0; n < 255; n += 1) pages(looks, 1, 0.01, rare, `tenants/${n}`);
    expect(pages(looks, 1, 0.01)).toEqual([undefined]);
    for (let n = 0; n < 256; n += 1) pages(looks, 1, 0.01, rare, `spaces/${n}`);
    expect(pages(looks, 1, 0.01)).toEqual([42]);
  });
});
