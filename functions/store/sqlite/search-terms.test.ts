import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import type { RecordData, RecordStore, Scope } from '../port.ts';
import { recordId } from '../record-id.ts';
import { Connection } from './connection.ts';
import { TermFinder, type TermFinderOptions } from './search-terms.ts';
import { openSqliteStore } from './store.ts';

const scope: Scope = { kind: 'spaces', name: 'default' };
const collection = { name: 'records', pairedIndexes: false, listedByGroup: true } as const;
const place = { collection: collection.name, group: 'b'.repeat(32) };
const names = Array.from({ length: 60 }, (_, n) => `n${n}`);
const longNames = Array.from({ length: 40 }, (_, n) => `l${n}`);
const long = 'x'.repeat(40_000);
const lexicons = new Map([
  ...names.map((name) => [recordId(name), name] as const),
  ...longNames.map((name) => [recordId(name), long] as const),
]);
let folder = '';
let store: RecordStore;
let connection: Connection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search-terms-'));
  const path = join(folder, 'store.db');
  store = await openSqliteStore({ path, ...machine, collections: [collection] });
  const records = [
    ...names.map((name, n) => recordOf(name, n % 2 === 0 ? ['all', 'even'] : ['all'], name)),
    ...longNames.map((name) => recordOf(name, ['long'], long)),
  ];
  const keys = records.map(({ key }) => ({ key }));
  const writes = records.map((put) => ({ put }));
  await store.transact(scope, { keys }, () => ({ writes, result: null }));
  connection = new Connection(path, { readOnly: true, busyTimeoutMs: 5_000 });
});
afterAll(async () => {
  connection.close();
  await store.close();
  await rm(folder, { recursive: true });
});

function recordOf(name: string, terms: readonly string[], lexicon: string): RecordData {
  return {
    key: { collection: collection.name, id: recordId(name) },
    head: {},
    body: '{}',
    listing: { group: place.group, id: name, hidden: false, indexes: {} },
    search: { group: place.group, terms, orderKey: recordId(name), lexicon, vectors: [] },
  };
}

function finderOf(options: TermFinderOptions): TermFinder {
  return new TermFinder(scope, async (work) => work(connection), options);
}

/** Collects the ids of all pages, and counts the turns that the finds leave to other calls. */
async function walk(term: string, limit: number, options: TermFinderOptions, from?: string) {
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const ids: string[] = [];
  const pages: number[] = [];
  const finder = finderOf({ ...options, turn });
  for (let after: string | null | undefined = from; after !== null; ) {
    const where = { by: 'term', ...place, term, limit } as const;
    const { entries, next } = await finder.entries({ ...where, ...(after === undefined ? {} : { after }) });
    for (const { id, lexicon } of entries) expect(lexicon).toBe(lexicons.get(id));
    ids.push(...entries.map(({ id }) => id));
    pages.push(entries.length);
    after = next;
  }
  return { ids, pages, turns };
}

test('finds answer the same however little they do at a time', async () => {
  const expected = {
    all: names.map((name) => recordId(name)).sort(),
    even: names
      .filter((_, n) => n % 2 === 0)
      .map((name) => recordId(name))
      .sort(),
    none: [],
  };
  const sizes = [
    { rowsPerTurn: 7, holdersMax: 10, pageEntriesMax: 3 },
    { rowsPerTurn: 1, holdersMax: 1, pageEntriesMax: 1 },
    { rowsPerTurn: 30, holdersMax: 60, pageEntriesMax: 4 },
    { rowsPerTurn: 100, holdersMax: 7, pageEntriesMax: 100 },
    {},
  ];
  for (const [term, ids] of Object.entries(expected)) {
    for (const size of sizes) {
      for (const limit of [1, 5, 60]) {
        const whole = await walk(term, limit, size);
        expect(whole.ids).toEqual(ids);
        expect(Math.max(...whole.pages)).toBeLessThanOrEqual(limit);
        expect((await walk(term, limit, size, ids[4])).ids).toEqual(ids.slice(ids.length > 4 ? 5 : 0));
      }
    }
  }
});

test('finds leave turns to others while they read the records of a term, once for many pages', async () => {
  expect(await walk('all', 10, { rowsPerTurn: 8 })).toMatchObject({ turns: 7 });
  expect(await walk('all', 10, { rowsPerTurn: 8, holdersMax: 30 })).toMatchObject({ turns: 14 });
  expect(await walk('all', 10, {})).toMatchObject({ turns: 0 });
});

test('a find for another term, or from another position, does not use the kept state', async () => {
  const finder = finderOf({});
  const ids = names.map((name) => recordId(name)).sort();
  const find = async (term: string, after?: string) => {
    const where = { by: 'term', ...place, term, limit: 3 } as const;
    const { entries } = await finder.entries({ ...where, ...(after === undefined ? {} : { after }) });
    return entries.map(({ id }) => id);
  };
  const even = names
    .filter((_, n) => n % 2 === 0)
    .map((name) => recordId(name))
    .sort();
  expect(await find('all')).toEqual(ids.slice(0, 3));
  expect(await find('even', ids[2])).toEqual(even.filter((id) => id > (ids[2] ?? '')).slice(0, 3));
  expect(await find('all', ids[2])).toEqual(ids.slice(3, 6));
  expect(await find('all', ids[9])).toEqual(ids.slice(10, 13));
  expect(await find('all', ids[12])).toEqual(ids.slice(13, 16));
  expect(await find('all')).toEqual(ids.slice(0, 3));
  const group = { ...place, group: 'c'.repeat(32) };
  const other = await finder.entries({ by: 'term', ...group, term: 'all', limit: 3, after: ids[2] ?? '' });
  expect(other).toEqual({ entries: [], next: null });
});

test('finds leave turns to others while they count', async () => {
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const terms = ['all', 'none', 'all', 'all', 'even'];
  const found = await finderOf({ rowsPerTurn: 30, turn }).counts({ by: 'counts', ...place, terms, max: 40 });
  expect(found).toEqual({ counts: [40, 0, 40, 40, 30] });
  expect(turns).toBe(3);
});

test('a page ends where it has many characters', async () => {
  expect(await walk('long', 60, {})).toMatchObject({ pages: [32, 8] });
});
