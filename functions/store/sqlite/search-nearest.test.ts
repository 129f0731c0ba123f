import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import type { RecordData, RecordStore, Scope, Write } from '../port.ts';
import { recordId } from '../record-id.ts';
import type { FoundNearest, NearestMatch } from '../search.ts';
import { similarity } from '../similarity.ts';
import { openSqliteStore } from './store.ts';

const scope: Scope = { kind: 'spaces', name: 'default' };
const collection = { name: 'records', pairedIndexes: false, listedByGroup: true } as const;
const group = 'b'.repeat(32);
const metric = 'dotProduct';
const asked = Float32Array.of(1, 0.5, -0.25);
/** More than are read without being held in memory. */
const count = 300;
let folder = '';
let stores: RecordStore[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nearest-'));
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await rm(folder, { recursive: true });
});

async function open(vectorBytesMax?: number): Promise<RecordStore> {
  const memory = vectorBytesMax === undefined ? {} : { vectorBytesMax };
  const path = join(folder, 'store.db');
  const store = await openSqliteStore({ path, ...machine, collections: [collection], ...memory });
  stores.push(store);
  return store;
}

function vectorOf(n: number): Float32Array {
  return Float32Array.of(Math.sin(n), Math.cos(n * 3), Math.sin(n * n));
}

function recordOf(name: string, values: Float32Array | null): RecordData {
  const listing = { group, id: name, hidden: false, indexes: {} };
  const vectors = values === null ? [] : [{ slot: '3a', metric, values } as const];
  const search = { group, terms: [], orderKey: '', lexicon: '', vectors };
  return { key: { collection: collection.name, id: recordId(name) }, head: {}, body: '{}', listing, search };
}

function write(store: RecordStore, writes: readonly Write[]): Promise<null> {
  const keys = writes.map((each) => ({ key: 'put' in each ? each.put.key : each.remove }));
  return store.transact(scope, { keys }, () => ({ writes, result: null }));
}

async function fill(store: RecordStore): Promise<Map<string, Float32Array>> {
  const held = new Map(Array.from({ length: count }, (_, n) => [`n${n}`, vectorOf(n)]));
  await write(
    store,
    [...held].map(([name, values]) => ({ put: recordOf(name, values) })),
  );
  return held;
}

const request = { by: 'nearest', collection: 'records', group, slot: '3a', metric, limit: 9 } as const;

async function find(store: RecordStore, readsMax = 100_000): Promise<FoundNearest> {
  return store.snapshot(scope, async (moment) => {
    return moment.find({ ...request, values: asked, readsMax });
  });
}

function nearestOf(held: ReadonlyMap<string, Float32Array>): NearestMatch[] {
  return [...held]
    .map(([name, values]) => ({ name, score: similarity(metric, values, asked) }))
    .sort((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1))
    .slice(0, request.limit)
    .map(({ name, score }) => ({ id: recordId(name), score }));
}

test('vectors held in memory follow the writes of every instance', async () => {
  const [one, other] = [await open(), await open()];
  const held = await fill(one);
  for (let round = 0; round < 40; round += 1) {
    const writer = round % 3 === 0 ? other : one;
    const [changed, removed] = [`n${(round * 37) % count}`, `n${(round * 53) % count}`];
    const values = vectorOf(round * 1_000).map((value) => value * 2);
    await write(writer, [{ remove: recordOf(removed, null).key }]);
    held.delete(removed);
    await write(writer, [{ put: recordOf(changed, round % 5 === 0 ? null : values) }]);
    if (round % 5 === 0) held.delete(changed);
    else held.set(changed, values);
    for (const store of [one, other]) {
      // Nothing but memory is read, so the bound of reads says that it is used.
      const found = await find(store, 60);
      expect(found).toMatchObject({ complete: true, matches: nearestOf(held) });
    }
  }
});

test('a search reads vectors for the first time while other calls write', async () => {
  const [one, other] = [await open(), await open()];
  const held = await fill(one);
  const stop = new AbortController();
  let written = 0;
  const writer = (async () => {
    while (!stop.signal.aborted) {
      const far = Float32Array.of(-1, written % 7, 0);
      await write(written % 2 === 0 ? one : other, [{ put: recordOf('far', far) }]);
      written += 1;
    }
  })();
  try {
    await expect.poll(() => written).toBeGreaterThan(3);
    held.set('far', Float32Array.of(-1, 0, 0));
    const first = nearestOf(held).filter(({ id }) => id !== recordId('far'));
    for (const store of [one, other]) {
      const found = await Promise.all([find(store), find(store)]);
      for (const { complete, matches } of found) {
        expect(complete).toBe(true);
        const others = matches.filter(({ id }) => id !== recordId('far'));
        expect(others).toEqual(first.slice(0, others.length));
        expect(others.length).toBeGreaterThanOrEqual(request.limit - 1);
      }
    }
  } finally {
    stop.abort();
    await writer;
  }
});

test('vectors that have no room in memory are read by each search, within its reads', async () => {
  const store = await open(1_000);
  const held = await fill(store);
  expect(await find(store)).toMatchObject({ complete: true, matches: nearestOf(held), reads: count });
  expect(await find(store, count - 1)).toMatchObject({ complete: false });
  await write(store, [{ remove: recordOf('n5', null).key }]);
  held.delete('n5');
  expect(await find(store, count - 1)).toMatchObject({ complete: true, matches: nearestOf(held) });
});

test('a moment before later writes sees none of them, also where memory holds them', async () => {
  const [one, other] = [await open(), await open()];
  const held = await fill(one);
  await find(one);
  let isWritten = false;
  const later = new Map([...held, ['n7', Float32Array.of(9, 9, 9)] as const]);
  const seen = await one.snapshot(scope, async (moment) => {
    const page = await moment.query({ by: 'keys', keys: [{ key: recordOf('n7', null).key }] });
    if (!isWritten) {
      isWritten = true;
      // The first try ends here; the second holds its moment while the next write moves the memory on.
      await write(other, [{ put: { ...recordOf('n8', vectorOf(8)), head: { second: true } } }]);
    } else if (page.records[0]?.head['last'] !== true) {
      await write(other, [{ put: { ...recordOf('n7', Float32Array.of(9, 9, 9)), head: { last: true } } }]);
      await find(one);
    }
    const { matches } = await moment.find({ ...request, values: asked, readsMax: 100_000 });
    return { last: page.records[0]?.head['last'] === true, matches };
  });
  expect(seen).toEqual({ last: false, matches: nearestOf(held) });
  expect((await find(one)).matches).toEqual(nearestOf(later));
});
