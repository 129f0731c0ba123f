import { expect, test } from 'vitest';
import type { KeysSelection, ListSelection, Moment, RecordData } from '../store/port.ts';
import { candidatesOf } from './candidates.ts';
import { ReadBudget } from './read-budget.ts';
import { ReadLanes } from './read-lanes.ts';
import type { Incarnation } from './rules/incarnation.ts';

const LARGE = 'x'.repeat(900_000);

/** A list without an end; `bodyOf` says the body of its record at a place. */
function readerOver(bodyOf: (place: number) => string) {
  const limits: number[] = [];
  const page = (selection: KeysSelection | ListSelection) => {
    if (selection.by !== 'list') throw new Error('only lists are read');
    const from = Number(selection.after ?? 0);
    limits.push(selection.limit);
    const records = Array.from({ length: selection.limit }, (_, n): RecordData => {
      const id = `${String(from + n).padStart(6, '0')} ${JSON.stringify(selection.equal)}`;
      const listing = { group: selection.group ?? '', id, hidden: false, indexes: {} };
      return { key: { collection: 'records', id }, head: {}, body: bodyOf(from + n), listing };
    });
    return Promise.resolve({ records, next: String(from + selection.limit) });
  };
  const moment = { query: page, generation: () => Promise.resolve('') } as unknown as Moment;
  return { limits, moment };
}

async function read(
  over: ReturnType<typeof readerOver>,
  lists: number,
  count: number,
  pageMax?: number,
): Promise<void> {
  const values = Array.from({ length: lists }, (_, n) => `${n}`);
  const driver = lists === 1 ? { by: 'listing' as const } : { by: 'in' as const, index: 'i', values };
  await new ReadLanes().run('space', async (lane) => {
    const budget = new ReadBudget(10_000, '', lane);
    const turns = { due: () => false, next: () => Promise.resolve() };
    const bytes = { add: () => undefined, drop: () => undefined };
    const reader = {
      moment: over.moment,
      incarnation: 'incarnation' as Incarnation,
      budget,
      turns,
      bytes,
      pageMax,
    };
    const found = candidatesOf(reader, driver, null, 5_001);
    for (let n = 0; n < count; n += 1) await found.next();
  });
}

test('the first page of a list is small, and large bodies keep the next ones small', async () => {
  const over = readerOver(() => LARGE);
  await read(over, 1, 60);
  expect(over.limits).toEqual([51, 4, 4, 4]);
});

test('a list of small records reads whole pages behind the first', async () => {
  const over = readerOver(() => '{}');
  await read(over, 1, 300);
  expect(over.limits).toEqual([51, 200, 200]);
});

test('a store that ends no page by its bytes is asked for no more than the first page, after small pages too', async () => {
  const over = readerOver((place) => (place < 204 ? '{}' : LARGE));
  await read(over, 1, 270, 51);
  expect(over.limits).toEqual([51, 51, 51, 51, 51, 4, 4, 4, 4]);
});

test('the lists of one call share what its pages hold', async () => {
  const over = readerOver(() => LARGE);
  await read(over, 50, 60);
  expect(new Set(over.limits)).toEqual(new Set([1]));
});

test('while a page of one list is large, the others read single records', async () => {
  const over = readerOver((place) => (place === 0 ? '{}' : LARGE));
  await read(over, 50, 51);
  expect(over.limits.filter((limit) => limit > 1)).toEqual([200]);
});
