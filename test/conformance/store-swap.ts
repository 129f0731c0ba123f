import { describe, expect, test } from 'vitest';
import type { RecordData } from '../../functions/store/port.ts';
import {
  documents,
  events,
  fullRecord,
  keyOf,
  listAll,
  partsAll,
  plain,
  put,
  randomScope,
  read,
  scanAll,
  streamOf,
  transact,
} from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

const nothing = (): void => undefined;
const of = keyOf('document').id;

function generation(name: string, count: number): RecordData[] {
  return Array.from({ length: count }, (_, index) => {
    const parts = [1, 5, 7].includes(index)
      ? [{ of, order: `${name}${index + 100_000}`, body: `${name} ${index}` }]
      : [];
    const record = fullRecord(`${name} ${index}`, { parts });
    if (index % 3 !== 0) return record;
    return { ...record, key: keyOf(`${name} ${index}`, events), due: index };
  });
}

export function describeSwap(suite: StoreSuite): void {
  describe('swap', () => {
    describeReplacement(suite);
    describeFailure(suite);
    describeBesideWriters(suite);
  });
}

function describeReplacement(suite: StoreSuite): void {
  test('replaces everything: keys, lists, parts, due records and scans', async () => {
    const store = suite.store();
    const [scope, neighbour] = [randomScope(), randomScope()];
    await put(store, scope, ...generation('old', 12));
    await put(store, neighbour, ...generation('old', 3));
    const records = generation('new', 9);
    await store.swap(scope, streamOf(records), nothing);
    const scanned = await scanAll(store, scope, [documents.name, events.name]);
    const byId = (left: RecordData | undefined, right: RecordData | undefined): number =>
      (left?.key.id ?? '') < (right?.key.id ?? '') ? -1 : 1;
    expect(scanned.map(plain).toSorted(byId)).toEqual(records.map(plain).toSorted(byId));
    expect(await read(store, scope, keyOf('old 1'))).toBeUndefined();
    const listed = await listAll(store, scope, { collection: documents, orderBy: 'rank', limit: 4 });
    expect(listed.map((record) => record.listing?.id)).toEqual([
      'new 1',
      'new 2',
      'new 4',
      'new 5',
      'new 7',
      'new 8',
    ]);
    const parts = await partsAll(store, scope, {
      collection: documents,
      of,
      direction: 'ascending',
      limit: 50,
    });
    expect(parts.map((part) => part.body)).toEqual(['new 1', 'new 5', 'new 7']);
    const claimed = await store.claim(scope, events, { now: 100, limit: 50 }, (record) => ({
      put: { ...record, due: null },
      result: record.listing?.id,
    }));
    expect(claimed).toEqual(['new 0', 'new 3', 'new 6']);
    expect(await scanAll(store, neighbour, [documents.name, events.name])).toHaveLength(3);
  });

  test('works on an empty scope, again and again, and with nothing', async () => {
    const store = suite.store();
    const scope = randomScope();
    for (const count of [4, 7, 0, 2]) {
      await store.swap(scope, streamOf(generation(`g${count}`, count)), nothing);
      expect(await scanAll(store, scope, [documents.name, events.name])).toHaveLength(count);
    }
    await put(store, scope, fullRecord('after'));
    expect(await scanAll(store, scope, [documents.name, events.name])).toHaveLength(3);
  });

  test('carries many records', async () => {
    const store = suite.store();
    const scope = randomScope();
    const count = suite.scale.swapRecords;
    await put(store, scope, fullRecord('old'));
    await store.swap(scope, streamOf(generation('new', count)), nothing);
    const scanned = await scanAll(store, scope, [documents.name, events.name], 500);
    expect(scanned).toHaveLength(count);
    expect(await read(store, scope, keyOf('old'))).toBeUndefined();
  });
}

function describeFailure(suite: StoreSuite): void {
  test('a failing source or verify changes nothing', async () => {
    const store = suite.store();
    const scope = randomScope();
    const old = generation('old', 6);
    await put(store, scope, ...old);
    const before = await scanAll(store, scope, [documents.name, events.name]);
    async function* broken(): AsyncGenerator<RecordData> {
      yield* streamOf(generation('new', 30));
      throw new Error('the source broke');
    }
    await expect(store.swap(scope, broken(), nothing)).rejects.toThrow('the source broke');
    const refusing = (): Promise<void> => Promise.reject(new Error('the hash differs'));
    const refused = store.swap(scope, streamOf(generation('new', 30)), refusing);
    await expect(refused).rejects.toThrow('the hash differs');
    const throwing = (): void => {
      throw new Error('the count differs');
    };
    await expect(store.swap(scope, streamOf([]), throwing)).rejects.toThrow('the count differs');
    const after = await scanAll(store, scope, [documents.name, events.name]);
    expect(after.map(plain)).toEqual(before.map(plain));
    expect(await read(store, scope, keyOf('new 1'))).toBeUndefined();
    await store.swap(scope, streamOf(generation('next', 2)), nothing);
    expect(await scanAll(store, scope, [documents.name, events.name])).toHaveLength(2);
  });

  test('verify runs after the last record and before anything shows', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, fullRecord('old'));
    let drawn = 0;
    async function* counted(): AsyncGenerator<RecordData> {
      for (const record of generation('new', 10)) {
        drawn += 1;
        yield record;
      }
    }
    const seen: unknown[] = [];
    await store.swap(scope, counted(), async () => {
      seen.push(drawn);
      seen.push(await read(store, scope, keyOf('new 1')));
      seen.push((await read(store, scope, keyOf('old')))?.key.id);
    });
    expect(seen).toEqual([10, undefined, keyOf('old').id]);
    expect(await read(store, scope, keyOf('new 1'))).toBeDefined();
  });
}

function describeBesideWriters(suite: StoreSuite): void {
  test('is atomic beside a writer: the surviving writes are an unbroken tail', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, fullRecord('old'));
    const stop = new AbortController();
    let written = 0;
    const writer = (async () => {
      while (!stop.signal.aborted) {
        await put(store, scope, { ...fullRecord(`line ${written}`), head: { line: written } });
        written += 1;
      }
    })().finally(() => stop.abort());
    const reader = (async () => {
      const pair = [keyOf('old'), keyOf('new 1')] as const;
      while (!stop.signal.aborted) {
        const present = await transact(store, scope, pair, (found) => ({
          writes: [],
          result: pair.filter((key) => found.get(key) !== undefined).length,
        }));
        expect(present).toBe(1);
      }
    })().finally(() => stop.abort());
    const until = (lines: number): Promise<void> => waitUntil(() => written >= lines || stop.signal.aborted);
    await until(3);
    await store.swap(scope, streamOf(generation('new', 60)), () => until(written + 3));
    const atFlip = written;
    await until(written + 3);
    stop.abort();
    await Promise.all([writer, reader]);
    const scanned = await scanAll(store, scope, [documents.name, events.name]);
    const lines = scanned.map(({ head }) => head['line']).filter((line) => line !== undefined);
    const survived = lines.map(Number).sort((left, right) => left - right);
    expect(survived.at(-1)).toBe(written - 1);
    expect(survived).toEqual(survived.map((_, index) => written - survived.length + index));
    expect(survived.length).toBeLessThan(written);
    expect(survived.length).toBeGreaterThanOrEqual(written - atFlip - 1);
    expect(scanned).toHaveLength(60 + survived.length);
  });

  test('a scan that began before it sees the old to the end', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, ...generation('old', 12));
    const names: string[] = [];
    for await (const page of store.scan(scope, { collections: [documents.name, events.name], pageSize: 2 })) {
      if (names.length === 0) await store.swap(scope, streamOf(generation('new', 12)), nothing);
      names.push(...page.records.map((record) => record.listing?.id ?? ''));
    }
    expect(names).toHaveLength(12);
    expect(names.every((name) => name.startsWith('old'))).toBe(true);
  });

  test('of two at once one is whole', async () => {
    const store = suite.store();
    const scope = randomScope();
    const swaps = ['one', 'two'].map((name) => store.swap(scope, streamOf(generation(name, 20)), nothing));
    await Promise.all(swaps);
    const scanned = await scanAll(store, scope, [documents.name, events.name]);
    expect(scanned).toHaveLength(20);
    expect(new Set(scanned.map((record) => record.listing?.id.split(' ')[0])).size).toBe(1);
  });
}

async function waitUntil(reached: () => boolean): Promise<void> {
  while (!reached()) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
