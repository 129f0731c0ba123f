import { afterEach, describe, expect, test, vi } from 'vitest';
import { newIncarnation, replaceCollection } from '../../functions/collections/pointers.ts';
import { SlotRows } from '../../functions/store/sqlite/search-vectors.ts';
import { openTemporaryStore } from './records-search-sqlite.ts';
import { allOf, NAME, placeOf, writeAll } from './records-search-stage.ts';
import { RecordsStage } from './records-stage.ts';

/** So long that a page has few rows: the matrix is loaded in several, and other calls work between them. */
const DIMENSIONS = 1024;
const COUNT = 150;
/** So many that versions of the new collection go beyond those of the old one, where one matrix for both would show. */
const NEW_COUNT = 200;
const TOP = 20;
const policy = {
  name: NAME,
  vectorPolicies: [
    { name: 'main', path: '/vectors/main/values', dimensions: DIMENSIONS, distanceFunction: 'dotProduct' },
  ],
};
/** The lower the number of a record, the nearer it is. */
const recordOf = (number: number) => {
  const values = Array.from({ length: DIMENSIONS }, (_, at) => (at === 0 ? -number : (at % 5) / 8));
  return JSON.stringify({
    id: `r${number}`,
    partitionKey: 'p',
    vectors: { main: { values, distanceFunction: 'dotProduct' } },
  });
};
const recordsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => recordOf(first + n));
const value = Array.from({ length: DIMENSIONS }, (_, at) => (at === 0 ? 1 : 0));
const request = { vector: { field: 'main', value, top: TOP } };
const nearest = (from: number) =>
  Array.from({ length: TOP }, (_, n) => placeOf({ id: `r${from + n}`, partitionKey: 'p' }));

afterEach(() => {
  vi.restoreAllMocks();
});

/** Does something between two pages of rows, once for each step. Returns how many pages were read until then and since. */
function betweenPages(...steps: readonly (() => Promise<unknown>)[]): { readonly pages: number[] } {
  const pages: number[] = [];
  const left = [...steps];
  const changes = Reflect.get(SlotRows.prototype, 'changes');
  vi.spyOn(SlotRows.prototype, 'changes').mockImplementation(async function (this: SlotRows, after, limit) {
    const page = await changes.call(this, after, limit);
    pages.push(page.length);
    // The page is full, so another one follows.
    if (after > 0 && page.length === limit) await left.shift()?.();
    return page;
  });
  return { pages };
}

describe('a search that loads the vectors of a collection', () => {
  async function opened() {
    const temporary = await openTemporaryStore();
    const stage = new RecordsStage(temporary.store);
    const collection = await stage.create(policy);
    await writeAll(stage, recordsFrom(0, COUNT));
    const { parts, space } = stage;
    const replace = () =>
      replaceCollection(parts, space, { ...collection, incarnation: newIncarnation(parts) });
    const search = async () => (await allOf(stage, request)).map(({ record }) => placeOf(record));
    return { temporary, stage, replace, search };
  }

  test('answers from the new collection where it is replaced between two pages', async () => {
    const { temporary, stage, replace, search } = await opened();
    await using _ = temporary;
    let isReplaced = false;
    const { pages } = betweenPages(async () => {
      await replace();
      await writeAll(stage, recordsFrom(1000, NEW_COUNT));
      isReplaced = true;
    });
    expect(await search()).toEqual(nearest(1000));
    expect(isReplaced).toBe(true);
    expect(pages.length).toBeGreaterThan(2);
    expect(await search()).toEqual(nearest(1000));
  });

  test('answers from the one before where its moment lasts: a write ended the first try', async () => {
    const { temporary, stage, replace, search } = await opened();
    await using _ = temporary;
    let isReplaced = false;
    betweenPages(
      () => writeAll(stage, [recordOf(-1)]),
      async () => {
        await replace();
        isReplaced = true;
      },
    );
    expect(await search()).toEqual(nearest(-1));
    expect(isReplaced).toBe(true);
    expect(await search()).toEqual([]);
    await writeAll(stage, recordsFrom(2000, NEW_COUNT));
    expect(await search()).toEqual(nearest(2000));
  });
});
