import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import { NearestSearch } from '../nearest/nearest-search.ts';
import type { RecordData, RecordStore, Scope, Write } from '../port.ts';
import { recordId } from '../record-id.ts';
import type { EntryWordCounts, WordCountsReader } from '../search.ts';
import { Connection } from './connection.ts';
import { wordCounter } from './find.ts';
import { openSqliteStore } from './store.ts';

const scope: Scope = { kind: 'spaces', name: 'default' };
const collection = { name: 'records', pairedIndexes: false, listedByGroup: true } as const;
const group = 'b'.repeat(32);
const place = { collection: collection.name, group };
let folder = '';
let store: RecordStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search-counts-'));
  const path = join(folder, 'store.db');
  store = await openSqliteStore({ path, ...machine, collections: [collection] });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

function counted(length: number, codes: Readonly<Record<string, number>> = {}): EntryWordCounts {
  return { length, codes: new Map(Object.entries(codes)) };
}

function recordOf(
  name: string,
  terms: readonly string[],
  wordCounts?: EntryWordCounts,
  of = group,
): RecordData {
  const entry = { group: of, terms, orderKey: name, lexicon: `of ${name}`, vectors: [] };
  return {
    key: { collection: collection.name, id: recordId(`${of} ${name}`) },
    head: {},
    body: '{}',
    listing: { group: of, id: name, hidden: false, indexes: {} },
    search: wordCounts === undefined ? entry : { ...entry, wordCounts },
  };
}

function put(...records: readonly RecordData[]): Promise<null> {
  return write(...records.map((record) => ({ put: record })));
}

function write(...writes: Write[]): Promise<null> {
  const keys = writes.map((each) => ({ key: 'put' in each ? each.put.key : each.remove }));
  return store.transact(scope, { keys }, () => ({ writes, result: null }));
}

function reading<R>(use: (words: WordCountsReader) => Promise<R>): Promise<R> {
  return store.snapshot(scope, (moment) => use(moment.wordCounts!));
}

/** Lengths and codes by the order keys of the records. */
function countsOf(terms: readonly string[], max = 100) {
  return reading(async (words) => {
    const counts = await words.counts({ ...place, terms, max });
    if (counts === null) return null;
    const found: Record<string, readonly number[]> = {};
    for (const [index, at] of counts.places.entries()) {
      const [entry] = await words.entries([at]);
      expect(entry?.lexicon).toBe(`of ${entry?.orderKey}`);
      found[entry!.orderKey] = [counts.lengths[index]!, ...counts.codes.map((each) => each[index]!)];
    }
    return found;
  });
}

test('the records of several terms have their lengths and codes', async () => {
  await put(
    recordOf('a', ['one', 'two'], counted(7, { one: 6, two: 1 })),
    recordOf('b', ['one', 'three'], counted(0, { three: 9, onemore: 8 })),
    recordOf('c', ['two', 'oneself'], counted(65_000, { oneself: 40 })),
    recordOf('d', ['four'], counted(3)),
    recordOf('a', ['one', 'two'], counted(1, { one: 99 }), 'c'.repeat(32)),
  );
  expect(await countsOf(['one', 'two'])).toEqual({ a: [7, 6, 1], b: [0, 2, -1], c: [65_000, -1, 2] });
  expect(await countsOf(['oneself'])).toEqual({ c: [65_000, 40] });
  expect(await countsOf(['none'])).toEqual({});
});

test('a record that is written again has its new codes alone, and a removed one has none', async () => {
  await put(recordOf('a', ['one'], counted(7, { one: 6 })), recordOf('b', ['one'], counted(2, { one: 4 })));
  await put(recordOf('a', ['one', 'two'], counted(5)));
  expect(await countsOf(['one', 'two'])).toEqual({ a: [5, 2, 2], b: [2, 4, -1] });
  await write({ remove: recordOf('b', []).key });
  await put(recordOf('c', ['one'], counted(9)));
  expect(await countsOf(['one', 'two'])).toEqual({ a: [5, 2, 2], c: [9, 2, -1] });
});

test('none are given where one record has none, or too many words to keep, or where too many records hold a term', async () => {
  await put(recordOf('a', ['one'], counted(7)), recordOf('b', ['two'], counted(7)), recordOf('c', ['two']));
  expect(await countsOf(['one'])).toEqual({ a: [7, 2] });
  expect(await countsOf(['one', 'two'])).toBeNull();
  await put(recordOf('c', ['two'], counted(65_534)));
  expect(await countsOf(['two'])).toBeNull();
  await put(recordOf('c', ['two'], counted(65_533)));
  expect(await countsOf(['two'], 2)).toEqual({ b: [7, 2], c: [65_533, 2] });
  expect(await countsOf(['two'], 1)).toBeNull();
});

test('many records of a term are read in turns, and those behind the first are found by their order keys', async () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `n${n}`);
  for (let from = 0; from < names.length; from += 1_000)
    await put(
      ...names
        .slice(from, from + 1_000)
        .map((name, n) => recordOf(name, ['all'], counted(n, { all: 10 + (n % 7) }))),
    );
  const places = await reading(async (words) => {
    const counts = await words.counts({ ...place, terms: ['all'], max: 5_000 });
    expect([...counts!.lengths]).toEqual(names.map((_, n) => n % 1_000));
    expect([...counts!.codes[0]!]).toEqual(names.map((_, n) => 10 + ((n % 1_000) % 7)));
    return counts!.places;
  });
  const behind = await reading((words) => words.behind([...places], 4_990));
  const entries = await reading((words) => words.entries(behind));
  expect(entries.map(({ orderKey }) => orderKey).sort()).toEqual(names.sort().slice(4_990));
});

/** The result of `use`, and the number of times that it yielded to other calls. */
async function turnsOf<R>(use: (words: WordCountsReader) => Promise<R>) {
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const nearest = new NearestSearch({ bytesMax: 1, clock: { now: () => 0 }, turn });
  const connection = new Connection(join(folder, 'store.db'), { readOnly: true, busyTimeoutMs: 5_000 });
  try {
    const found = await use(wordCounter(nearest, scope, async (work) => work(connection)));
    return { found, turns };
  } finally {
    connection.close();
  }
}

test('a find of many terms lets the other calls work, and ends where their records are too many together', async () => {
  const terms = Array.from({ length: 60 }, (_, n) => `t${n}`);
  const records = Array.from({ length: 600 }, (_, n) =>
    recordOf(`n${n}`, n < 500 ? terms : [...terms, 'all'], counted(9)),
  );
  await put(...records);
  const counts = (some: readonly string[]) =>
    turnsOf((words) => words.counts({ ...place, terms: some, max: 600 }));
  expect((await counts(terms)).found).toBeNull();
  const { found, turns } = await counts(terms.slice(0, 50));
  expect(found?.places.length).toBe(600);
  // 30,000 rows, 50 terms twice, and 30,000 codes twice.
  expect(turns).toBeGreaterThanOrEqual(10);
  const holders = (max: number) => turnsOf((words) => words.holders({ ...place, term: 'all', max }));
  expect((await holders(100)).found).toHaveLength(100);
  expect((await holders(99)).found).toBeNull();
});

test('many terms of few records each have a bound for all their codes, which are made in turns', async () => {
  const terms = Array.from({ length: 128 }, (_, n) => `t${n}`);
  const named = (n: number) => recordOf(`n${n}`, [terms[n % 128]!], counted(n, { [terms[n % 128]!]: n }));
  await put(...Array.from({ length: 2_048 }, (_, n) => named(n)));
  const request = { ...place, terms, max: 5_000 };
  let bytes = 0;
  const grow = (added: number) => {
    bytes += added;
  };
  const { found, turns } = await turnsOf((words) => words.counts({ ...request, grow }));
  expect([...found!.lengths]).toEqual(Array.from({ length: 2_048 }, (_, n) => n));
  for (const [term, codes] of found!.codes.entries())
    expect(codes.every((code, n) => code === (n % 128 === term ? n : -1))).toBe(true);
  // At least 18 turns: 8 to read 128 terms twice, 4 to make 262,144 codes, 2 to unite the lists (half as many numbers), and 4 to
  // read the codes.
  expect(turns).toBeGreaterThanOrEqual(18);
  expect(bytes).toBe(2_048 * (8 + 12 + 4 * 128));
  expect((await turnsOf((words) => words.counts({ ...request, unitedMax: 2_047 }))).found).toBeNull();
  await put(named(2_048));
  expect((await turnsOf((words) => words.counts(request))).found).toBeNull();
  const fewer = { ...request, terms: terms.slice(1) };
  expect((await turnsOf((words) => words.counts(fewer))).found?.places.length).toBe(2_032);
});

test('no codes are made where their bytes are refused', async () => {
  await put(recordOf('a', ['one'], counted(1)), recordOf('b', ['one'], counted(1)));
  const asked: number[] = [];
  const grow = (added: number) => {
    asked.push(added);
    if (asked.length === 2) throw new Error('refused');
  };
  const counts = reading((words) => words.counts({ ...place, terms: ['one'], max: 9, grow }));
  await expect(counts).rejects.toThrow('refused');
  expect(asked).toEqual([16, 32]);
});
