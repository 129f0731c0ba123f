import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machine } from '../compose/machine.ts';
import { finished, UNDISTURBED } from '../kernel/turns.ts';
import type { Moment, RecordData, RecordStore, Scope } from '../store/port.ts';
import type { WordCountsReader } from '../store/search.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { ReadBudget } from './read-budget.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { readPolicy } from './rules/policy.ts';
import { readRecord } from './rules/record-text.fixture.ts';
import { entryFormats, newestFormat } from './search/formats.ts';
import { rankByWords } from './search-lexical.ts';
import { KeptTexts } from './search-reader.ts';
import { readSearch } from './search-request.ts';
import { findableRecord, recordData } from './stored-record.ts';

const incarnation = 'a'.repeat(32) as Incarnation;
const policy = readPolicy({ name: 'c' });
const scope: Scope = { kind: 'spaces', name: 's' };
const STAMP = { revision: 1, etag: 'rev:1', createdAt: '', updatedAt: '' };
const WORDS = Array.from({ length: 128 }, (_, n) => `word${n}`);
/** The most records of these words that are ranked by counts. */
const COUNTED_MOST = 2_048;
let folder = '';
let store: RecordStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search-counted-'));
  store = await openSqliteStore({ path: join(folder, 'store.db'), ...machine });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

function recordOf(n: number): RecordData {
  const content = `${`${WORDS[n % 128]!} `.repeat(1 + (n % 7))}${n % 3 === 0 ? WORDS[(n * 5) % 128]! : 'other'} by ${n}`;
  const record = readRecord(JSON.stringify({ id: `r${n}`, partitionKey: 'p', content }), policy);
  const findable = finished(findableRecord({ incarnation, policy }, record, newestFormat()));
  return recordData({ incarnation, policy }, findable, STAMP);
}

function put(records: readonly RecordData[]): Promise<null> {
  const writes = records.map((record) => ({ put: record }));
  return store.transact(scope, { keys: writes.map((each) => ({ key: each.put.key })) }, () => ({
    writes,
    result: null,
  }));
}

/** The answer, and whether word counts gave it; `counting`: whether the store has them. */
async function searched(counting: boolean) {
  const search = readSearch({ lexical: { query: WORDS.join(' '), top: 200 } }, policy, {
    candidatesMax: 5_000,
    formats: entryFormats,
  });
  if (search.mode !== 'lexical') throw new Error('the search has words');
  let isCounted = false;
  let held = 0;
  const ranked = await store.snapshot(scope, (moment) => {
    const words = moment.wordCounts!;
    const counts: WordCountsReader['counts'] = async (request) => {
      const found = await words.counts(request);
      isCounted = found !== null;
      return found;
    };
    const wordCounts: WordCountsReader = {
      counts,
      entries: (places) => words.entries(places),
      behind: (places, count) => words.behind(places, count),
      holders: (request) => words.holders(request),
    };
    const query: Moment['query'] = moment.query.bind(moment);
    const reader = {
      moment: (counting ? { query, wordCounts } : { query }) as Moment,
      find: moment.find,
      incarnation,
      budget: new ReadBudget(100_000, '', { passed: () => undefined } as never, 'search_budget_exceeded'),
      turns: UNDISTURBED,
      bytes: {
        add: (bytes: number) => void (held += bytes),
        drop: (bytes: number) => void (held -= bytes),
      },
      kept: new KeptTexts(),
      formats: entryFormats.slice(0, 1),
    };
    return rankByWords(reader, search.query, search.lexical, 200);
  });
  return { ranked: ranked.map(({ id, score }) => ({ id, score })), isCounted, held };
}

test('at the bound of the counts, and beyond it, a search has the answer of the other way', async () => {
  await put(Array.from({ length: COUNTED_MOST }, (_, n) => recordOf(n)));
  const within = await searched(true);
  expect(within.isCounted).toBe(true);
  expect(within.ranked).toHaveLength(200);
  expect(within.ranked).toEqual((await searched(false)).ranked);
  await put([recordOf(COUNTED_MOST)]);
  const beyond = await searched(true);
  const other = await searched(false);
  expect(beyond.isCounted).toBe(false);
  expect(beyond.ranked).toEqual(other.ranked);
  // Counts that were given up hold no bytes any more.
  expect(beyond.held).toBe(other.held);
});
