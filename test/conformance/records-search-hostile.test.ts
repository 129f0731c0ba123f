import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordLimits } from '../../functions/collections/parts.ts';
import { ReadLanes } from '../../functions/collections/read-lanes.ts';
import type { LexicalRequest } from '../../functions/collections/search/lexical-query.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { KeysSelection, ListSelection, Moment } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { vectorAgreement } from './records-search-cases.ts';
import { openTemporaryStore } from './records-search-sqlite.ts';
import {
  allOf,
  NAME,
  placeOf,
  vectorPolicies,
  vectorsOf,
  watchingFinds,
  writeAll,
} from './records-search-stage.ts';
import { RecordsStage } from './records-stage.ts';

const recordOf = (id: string, content: string) => JSON.stringify({ id, partitionKey: 'p', content });

describe('a store with room for the vectors of no record', () => {
  test('answers the same as scoring every record', async () => {
    await using opened = await openTemporaryStore({ vectorBytesMax: 1 });
    await fc.assert(
      vectorAgreement(() => opened.store, 8),
      { numRuns: 5 },
    );
  });

  test('refuses a search of more vectors than a call may read, and names the remedy', async () => {
    await using opened = await openTemporaryStore({ vectorBytesMax: 1 });
    const own = { readsPerCallMax: 100, pageRecordsMax: 10 };
    const stage = new RecordsStage(opened.store, own);
    await stage.create({ name: NAME, vectorPolicies, indexedMetadata: ['/n'] });
    const texts = Array.from({ length: 150 }, (_, n) =>
      JSON.stringify({ id: `${n}`, partitionKey: `p${n % 50}`, n: n % 30, vectors: vectorsOf([n, 1, 1]) }),
    );
    await writeAll(stage, texts);
    const vector = { field: 'cosine', value: [1, 2, 3], top: 4 };
    await expect(searchRecords(stage.parts, stage.space, NAME, { vector })).rejects.toMatchObject({
      code: 'search_budget_exceeded',
      message: expect.stringMatching(/more than 100 records.*partition keys/),
    });
    // An index or a partition narrows it to what the call may read.
    const narrowed = await allOf(stage, { vector, filter: { path: '/n', value: 7 } });
    expect(narrowed.map(({ record }) => record['n'])).toEqual([7, 7, 7, 7]);
    expect(await allOf(stage, { vector, partitionKeys: ['p3'] })).toHaveLength(3);
    expect(await allOf(stage, { vector, filter: { path: '/n', value: 31 } })).toEqual([]);
  });
});

describe('a search by vector', () => {
  test.each(['memory', 'sqlite'])(
    'reads the bodies of the records alone that its index finds: %s',
    async (kind) => {
      await using opened = await openTemporaryStore();
      const store = kind === 'memory' ? new MemoryStore(new MemoryDatabase()) : opened.store;
      const stage = new RecordsStage(store, { readsPerCallMax: 20, pageRecordsMax: 10 });
      await stage.create({ name: NAME, vectorPolicies, indexedMetadata: ['/n'] });
      const texts = Array.from({ length: 200 }, (_, n) =>
        JSON.stringify({ id: `${n}`, partitionKey: 'p', n: n % 100, vectors: vectorsOf([n, 1, 1]) }),
      );
      await writeAll(stage, texts);
      const vector = { field: 'euclidean', value: [0, 1, 1] };
      // A walk down the ranking would read 199 bodies.
      const found = await allOf(stage, { vector, filter: { path: '/n', value: 99 } });
      expect(found.map(({ record }) => record['id'])).toEqual(['99', '199']);
      const several = { path: '/n', op: 'gte', value: 99 };
      expect(await allOf(stage, { vector, filter: several })).toHaveLength(2);
      expect(await allOf(stage, { vector, filter: { path: '/n', value: 'absent' } })).toEqual([]);
      await expect(allOf(stage, { vector, filter: { path: '/id', value: 'absent' } })).rejects.toMatchObject({
        code: 'search_budget_exceeded',
      });
    },
  );
});

test('a record of more than 4,000 terms is found and scored by its whole text', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  await stage.create({ name: NAME });
  const many = Array.from({ length: 4_500 }, (_, n) => `word${n}`).join(' ');
  await writeAll(stage, [recordOf('long', `${many} word7 word4499`), recordOf('short', 'word7 word4499')]);
  const [first, second, ...others] = await allOf(stage, {
    lexical: { query: 'word7', fields: ['/content'] },
  });
  expect([placeOf(first!.record), placeOf(second!.record), others]).toEqual([
    '["p","short"]',
    '["p","long"]',
    [],
  ]);
  expect(second!.diagnostics).toMatchObject({
    scoreComponents: { termFrequency: 2 },
    details: { documentLength: 4_502 },
  });
  // Its last words are in no index; once found by another word, they count.
  const both = await allOf(stage, { lexical: { query: 'word7 word4499' } });
  expect(both.map(({ diagnostics }) => diagnostics?.['matchedTerms'])).toEqual([
    ['word4499', 'word7'],
    ['word4499', 'word7'],
  ]);
});

test.each(['any', 'all'])(
  'a record that lost the terms of its prefixes is found by its words and their beginnings: %s',
  async (matchMode) => {
    const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
    await stage.create({ name: NAME });
    const [long, short] = ['["p","long"]', '["p","short"]'];
    const many = Array.from({ length: 4_100 }, (_, n) => `word${n}`).join(' ');
    await writeAll(stage, [recordOf('long', `needle ${many}`), recordOf('short', 'needles word7')]);
    const idsOf = async (query: string) => {
      const found = await allOf(stage, { lexical: { query, matchMode, prefixMatching: true } });
      return found.map(({ record }) => placeOf(record)).sort();
    };
    expect(await idsOf('needle')).toEqual([long, short]);
    expect(await idsOf('needle word7')).toEqual([long, short]);
    // A term of its own leads to a record that has lost some; its text decides.
    expect(await idsOf('need')).toEqual([long, short]);
  },
);

describe('the words of a search', () => {
  const query = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');

  /** Searches for forty words, and returns how many were counted together. */
  async function counted(own: Partial<RecordLimits>, found: (stage: RecordsStage) => void) {
    const sizes: number[] = [];
    const stage: RecordsStage = new RecordsStage(
      watchingFinds(new MemoryStore(new MemoryDatabase()), async (request) => {
        if (request.by !== 'counts') return;
        sizes.push(request.terms.length);
        found(stage);
      }),
      own,
    );
    await stage.create({ name: NAME });
    await writeAll(stage, [recordOf('a', 'word1 word2')]);
    const search = searchRecords(stage.parts, stage.space, NAME, { lexical: { query } });
    return { sizes, search };
  }

  test('are counted in parts, and other calls get their turn between them', async () => {
    const turns: number[] = [];
    let turn = 0;
    // The other call is there first, so it has its turn before the search has the next.
    let other = setImmediate(function again() {
      turn += 1;
      other = setImmediate(again);
    });
    const { sizes, search } = await counted({}, ({ world }) => {
      turns.push(turn);
      world.advance(20);
    });
    expect((await search).matches).toHaveLength(1);
    clearImmediate(other);
    expect(sizes).toEqual([16, 16, 8]);
    const [first = 0] = turns;
    expect(turns.map((each) => each - first)).toEqual([0, 1, 2]);
  });

  test('are not all counted where the call may not read so much', async () => {
    const { sizes, search } = await counted({ readsPerCallMax: 20, pageRecordsMax: 1 }, () => undefined);
    await expect(search).rejects.toMatchObject({ code: 'search_budget_exceeded' });
    expect(sizes).toEqual([16, 16]);
  });

  test('cost one read of the call for each thousand records that hold them', async () => {
    const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()), {
      readsPerCallMax: 6,
      pageRecordsMax: 1,
    });
    await stage.create({ name: NAME });
    await writeAll(
      stage,
      Array.from({ length: 1_001 }, (_, n) => recordOf(`${n}`, `many${n === 9 ? ' rare' : ''}`)),
    );
    const search = (lexical: LexicalRequest) => searchRecords(stage.parts, stage.space, NAME, { lexical });
    // Two reads for the count of one word and one for the other, one entry, and the record.
    expect((await search({ query: 'many rare', matchMode: 'all' })).matches).toHaveLength(1);
    const phrases = [['rare'], ['many'], ['absent']];
    await expect(search({ query: 'many rare', requiredPhraseGroups: phrases })).resolves.toMatchObject({
      matches: [],
    });
    // The reads end during the search for one more candidate: the answer states that there may be others.
    const [first] = (await search({ query: 'many rare', top: 1, scanLimit: 2 })).matches;
    expect(first).toContain('"lexicalScanLimitReached":true');
    await expect(search({ query: 'many rare', top: 1, scanLimit: 3 })).rejects.toMatchObject({
      code: 'search_budget_exceeded',
    });
  });
});

test('a filter that refuses a whole batch of a search leads it on to the next records', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  await stage.create({ name: NAME });
  const texts = Array.from({ length: 1_200 }, (_, n) =>
    JSON.stringify({ id: `r${n + 1_000}`, partitionKey: 'p', content: n < 1_100 ? 'many' : 'many rare', n }),
  );
  await writeAll(stage, texts);
  const search = async (query: string, from: number) => {
    const request = { lexical: { query, scanLimit: 1 }, filter: { path: '/n', op: 'gte', value: from } };
    const { matches } = await searchRecords(stage.parts, stage.space, NAME, request);
    return matches.map((text) => [/"id":"(r\d+)"/.exec(text)?.[1], text.includes('ScanLimitReached":true')]);
  };
  expect(await search('many', 1_050)).toEqual([['r2050', true]]);
  expect(await search('many', 1_199)).toEqual([['r2199', false]]);
  expect(await search('many rare', 1_050)).toEqual([['r2100', true]]);
  expect(await search('many rare', 1_198)).toEqual([['r2198', true]]);
  expect(await search('many rare', 1_200)).toEqual([]);
});

test('long searches of a space wait for each other in the lanes of long reads', async () => {
  const order: string[] = [];
  const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const database = new MemoryDatabase();
  /** Stops the first search where it reads the texts of its answer. */
  class Holding extends MemoryStore {
    isFirst = false;
    override snapshot: MemoryStore['snapshot'] = (scope, read) =>
      super.snapshot(scope, (moment) => {
        const query = (async (selection: KeysSelection | ListSelection) => {
          if (selection.by === 'list') return moment.query(selection);
          if (this.isFirst && selection.keys[0]?.key.collection === 'records') {
            this.isFirst = false;
            held();
            await mayGo;
          }
          return moment.query(selection);
        }) as Moment['query'];
        return read({ query, find: moment.find, count: moment.count, generation: () => moment.generation() });
      });
  }
  const store = new Holding(database);
  const stage = new RecordsStage(store);
  const { timers } = stage.world;
  const parts = { ...stage.parts, lanes: new ReadLanes({ timers, longReadsMax: 1 }) };
  await stage.create({ name: NAME });
  await writeAll(
    stage,
    Array.from({ length: 1_100 }, (_, n) => recordOf(`${n}`, 'word')),
  );
  const search = async (name: string) => {
    await searchRecords(parts, stage.space, NAME, { lexical: { query: 'word', top: 1 } });
    order.push(name);
  };
  store.isFirst = true;
  const first = search('first');
  await isHeld;
  const second = search('second');
  // The second search has released its moment, and waits.
  await stage.world.timerSet();
  expect(order).toEqual([]);
  go();
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});

test('a search ends with its client', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  await stage.create({ name: NAME });
  await writeAll(stage, [recordOf('a', 'word')]);
  const call = { signal: AbortSignal.abort(new Error('the client has gone')) };
  const search = searchRecords(stage.parts, stage.space, NAME, { lexical: { query: 'word' } }, call);
  await expect(search).rejects.toThrow('the client has gone');
});

test('a search checks at each of its turns whether the client has disconnected', async () => {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  await stage.create({ name: NAME });
  await writeAll(
    stage,
    Array.from({ length: 40 }, (_, n) => recordOf(`${n}`, 'word')),
  );
  const asked = async (stepMs: number) => {
    let asks = 0;
    const { signal } = new AbortController();
    signal.throwIfAborted = () => void (asks += 1);
    const { clock } = stage.parts.world;
    let time = clock.now();
    const moving = { ...clock, now: () => (time += stepMs) };
    const world = { ...stage.parts.world, clock: moving, turns: new TurnRoom(moving) };
    const parts = { ...stage.parts, world };
    await searchRecords(parts, stage.space, NAME, { lexical: { query: 'word' } }, { signal });
    return asks;
  };
  expect((await asked(20)) - (await asked(0))).toBeGreaterThan(40);
});
