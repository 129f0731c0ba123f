import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import { floatsOf } from '../nearest/float-bytes.ts';
import type { RecordData, RecordStore, Scope, Write } from '../port.ts';
import { recordId } from '../record-id.ts';
import type { Among } from '../search.ts';
import { Connection } from './connection.ts';
import { idsAmong } from './search-among.ts';
import { TermFinder } from './search-terms.ts';
import { SlotRows } from './search-vectors.ts';
import { openSqliteStore } from './store.ts';
import { transactIn } from './transact.ts';

const scope: Scope = { kind: 'spaces', name: 'default' };
const collection = { name: 'records', pairedIndexes: false, listedByGroup: true } as const;
const group = 'b'.repeat(32);
const place = { collection: collection.name, group };
const nearest = { by: 'nearest', ...place, slot: '2a', metric: 'cosine', limit: 5, readsMax: 9 } as const;
const request = { ...nearest, values: Float32Array.of(1, 0) };
let folder = '';
let path = '';
let store: RecordStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search-'));
  path = join(folder, 'store.db');
  store = await open();
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

function open(): Promise<RecordStore> {
  return openSqliteStore({ path, ...machine, collections: [collection] });
}

/** A connection past the store. */
function through<R>(use: (connection: Connection) => R): R {
  const connection = new Connection(path, { readOnly: false, busyTimeoutMs: 5_000 });
  connection.paired = () => false;
  connection.grouped = () => true;
  try {
    return use(connection);
  } finally {
    connection.close();
  }
}

function rowsOf(...tables: string[]): number[] {
  const count = (connection: Connection, table: string) =>
    connection.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? -1;
  return through((connection) => tables.map((table) => count(connection, table)));
}

const tables = ['groups', 'entries', 'lexicons', 'slots', 'vectors', 'terms_docsize'].map(
  (name) => `search_${name}`,
);

function searched(name: string, x = 1, terms: readonly string[] = ['one', name]): RecordData {
  const vectors = [{ slot: '2a', metric: 'cosine', values: Float32Array.of(x, 1) }] as const;
  return { ...unsearched(name), search: { group, terms, orderKey: name, lexicon: `of ${name}`, vectors } };
}

function unsearched(name: string): RecordData {
  const listing = { group, id: `p\u0001${name}`, hidden: false, indexes: { rank: 'n1', other: 'x' } };
  return { key: { collection: collection.name, id: recordId(name) }, head: { name }, body: '{}', listing };
}

function write(...writes: Write[]): Promise<null> {
  const keys = writes.map((each) => ({ key: 'put' in each ? each.put.key : each.remove }));
  return store.transact(scope, { keys }, () => ({ writes, result: null }));
}

function put(...records: RecordData[]): Promise<null> {
  return write(...records.map((record) => ({ put: record })));
}

function countOf(...terms: string[]): Promise<readonly number[] | undefined> {
  const asked = { by: 'counts', ...place, terms, max: 1_000_000 } as const;
  return store.snapshot(scope, async (moment) => (await moment.find?.(asked))?.counts);
}

function slot():
  | { number: number; version: number; trimmed: number; live: number; dead: number }
  | undefined {
  return through((connection) => {
    const row = connection.get<{
      number: number;
      version: number;
      trimmed: number;
      live: number;
      dead: number;
    }>('SELECT number, version, trimmed, live, dead FROM search_slots');
    return row && { ...row };
  });
}

async function* streamOf(records: Iterable<RecordData>): AsyncGenerator<RecordData> {
  for (const record of records) yield record;
}

describe('the file', () => {
  test('has the schema of the release before, and gets the tables of searches beside it', async () => {
    await put(searched('a'));
    await store.close();
    through((connection) => {
      expect(connection.get('PRAGMA user_version')).toEqual({ user_version: 1 });
      for (const name of [
        ...tables.slice(0, 5),
        'search_lengths',
        'search_tokens',
        'search_terms',
        'search_versions',
      ])
        connection.exec(`DROP TABLE ${name}`);
    });
    const stores = await Promise.all([open(), open()]);
    store = stores[0];
    await stores[1].close();
    expect(await countOf('one')).toEqual([0]);
    await put(searched('a'));
    expect(await countOf('one')).toEqual([1]);
  });

  test('is refused where a newer release has changed the tables of searches', async () => {
    await store.close();
    through((connection) => connection.run('INSERT INTO search_versions (version) VALUES (99)'));
    await expect(open()).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringMatching(/version 99.*newer release/) as unknown,
    });
  });
});

describe('writes', () => {
  test('of records without a search entry read and write no table of searches', async () => {
    await put(searched('a'));
    const sent: string[] = [];
    through((connection) => {
      for (const verb of ['run', 'get', 'all'] as const) {
        const send = connection[verb].bind(connection) as (text: string, ...values: never[]) => never;
        connection[verb] = (text: string, ...values: unknown[]): never => {
          sent.push(text);
          return send(text, ...(values as never[]));
        };
      }
      for (const record of [unsearched('b'), unsearched('b'), unsearched('a')]) {
        const decide = () => ({ writes: [{ put: record }], result: null });
        connection.run('BEGIN IMMEDIATE');
        transactIn(connection, 1, scope, { keys: [{ key: record.key }] }, decide);
        connection.run('COMMIT');
      }
    });
    expect(sent.length).toBeGreaterThan(6);
    expect(sent.filter((text) => text.includes('search_'))).toEqual([]);
    expect(await countOf('one')).toEqual([1]);
  });

  test('give a version to each vector that changes, and to no other', async () => {
    await put(searched('a'), searched('b'));
    expect(slot()).toMatchObject({ version: 2, live: 2, dead: 0 });
    await put(searched('a'), searched('b', 2));
    expect(slot()).toMatchObject({ version: 3, live: 2, dead: 0 });
    await write({ remove: searched('a').key });
    expect(slot()).toMatchObject({ version: 4, live: 1, dead: 1 });
    await put(searched('a'));
    expect(slot()).toMatchObject({ version: 5, live: 2, dead: 0 });
    expect(rowsOf('search_vectors')).toEqual([2]);
  });

  test('trim the tombstones of a slot, the oldest first', async () => {
    const names = Array.from({ length: 2_002 }, (_, n) => `n${n}`);
    await put(...names.map((name) => searched(name)), searched('kept'));
    await write(...names.slice(0, 2_000).map((name) => ({ remove: searched(name).key })));
    expect(slot()).toMatchObject({ live: 3, dead: 2_000, trimmed: 0 });
    await write({ remove: searched('n2000').key });
    expect(slot()).toMatchObject({ version: 4_004, live: 2, dead: 1_000, trimmed: 3_004 });
    expect(rowsOf('search_vectors')).toEqual([1_002]);
    expect(await countOf('one')).toEqual([2]);
  });

  test('remove all rows of a group without entries, and a new group gets new numbers', async () => {
    await put(searched('a'), searched('b'));
    const before = slot();
    await write({ remove: searched('a').key }, { put: { ...unsearched('b'), search: null } });
    expect(rowsOf(...tables)).toEqual([0, 0, 0, 0, 0, 0]);
    await put(searched('a'));
    expect(slot()?.number).toBeGreaterThan(before?.number ?? 0);
  });

  test('leave no word of removed records in the file where no record is left', async () => {
    const words = Array.from({ length: 300 }, (_, at) => `unforgotten${at}`);
    await put(searched('a', 1, words), searched('b'));
    await write({ remove: searched('a').key }, { remove: searched('b').key });
    const blocks = 'SELECT group_concat(CAST(block AS TEXT)) AS texts FROM search_terms_data';
    const texts = through((connection) => connection.get<{ texts: string }>(blocks)?.texts ?? '');
    expect(texts).not.toContain('unforgotten');
  });

  test('of processes that end early keep the index of terms in few parts', async () => {
    for (let n = 0; n < 40; n += 1) {
      await put(searched(`n${n}`, n, [`t${n}`, 'one']));
      await store.close();
      store = await open();
    }
    const parts = 'SELECT count(DISTINCT segid) AS parts FROM search_terms_idx';
    expect(through((connection) => connection.get<{ parts: number }>(parts)?.parts)).toBeLessThan(12);
    expect(await countOf('one')).toEqual([40]);
  });

  test('one by one keep the index of terms in few parts', async () => {
    const terms = (n: number) => Array.from({ length: 300 }, (_, at) => `t${(at * 7 + n * 13) % 2_000}`);
    for (let n = 0; n < 300; n += 1) await put(searched(`n${n % 40}`, n, terms(n)));
    const parts = 'SELECT count(DISTINCT segid) AS parts FROM search_terms_idx';
    expect(through((connection) => connection.get<{ parts: number }>(parts)?.parts)).toBeLessThan(30);
    const holders = Array.from({ length: 40 }, (_, n) => terms(n + 280 - (n >= 20 ? 40 : 0)));
    const expected = holders.filter((held) => held.includes('t77')).length;
    expect(await countOf('t77')).toEqual([expected]);
  });
});

test('a file with searches passes the check that a backup makes', async () => {
  await put(...Array.from({ length: 50 }, (_, n) => searched(`n${n}`)));
  await put(searched('n1', 2, ['two']));
  await write({ remove: searched('n2').key });
  expect(through((connection) => connection.all('PRAGMA integrity_check'))).toEqual([
    { integrity_check: 'ok' },
  ]);
});

describe('sweeps', () => {
  test('remove all rows of a replaced space', async () => {
    const many = Array.from({ length: 500 }, (_, n) => searched(`n${n}`));
    await store.swap(scope, streamOf(many), () => undefined);
    await store.swap(scope, streamOf([searched('kept')]), () => undefined);
    await store.sweep();
    expect(rowsOf(...tables)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await countOf('one', 'n7')).toEqual([1, 0]);
    await store.swap(scope, streamOf([]), () => undefined);
    await store.sweep();
    expect(rowsOf(...tables)).toEqual([0, 0, 0, 0, 0, 0]);
    await put(searched('n7'), searched('other'));
    expect(await countOf('one', 'n7')).toEqual([2, 1]);
  });

  test('of a release without searches leave entries, which no find meets and the next sweep deletes', async () => {
    await store.swap(scope, streamOf([searched('a'), searched('b')]), () => undefined);
    through((connection) => {
      connection.exec('DELETE FROM records; DELETE FROM entries; DELETE FROM spaces; DELETE FROM scopes');
    });
    // Takes the row numbers of the records that were deleted.
    await put(unsearched('c'), searched('d', 1, ['two']), unsearched('e'));
    expect(await countOf('one', 'two')).toEqual([0, 1]);
    await write({ remove: unsearched('c').key }, { put: searched('e', 1, ['one']) });
    expect(await countOf('one', 'two')).toEqual([1, 1]);
    await store.sweep();
    expect(rowsOf(...tables)).toEqual([1, 2, 2, 1, 2, 2]);
    expect(await countOf('one', 'two')).toEqual([1, 1]);
  });
});

test('vectors are found by their places, and by their ids where a place is unknown or leads to another slot', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const other = [{ slot: '2b', metric: 'cosine', values: Float32Array.of(9, 9) }] as const;
  const strange = {
    ...unsearched('x'),
    search: { group, terms: [], orderKey: 'x', lexicon: '', vectors: other },
  };
  await put(...names.map((name, n) => searched(name, n)), strange);
  const rowsOfSlot = (slotName: string) =>
    new SlotRows(async (work) => through(work), scope, { ...request, slot: slotName });
  const rows = rowsOfSlot('2a');
  const [first] = await rows.changes(0, 9);
  const [stranger] = await rowsOfSlot('2b').changes(0, 9);
  const ids = names.map((name) => recordId(name));
  const places = [first!.place!, 0, stranger!.place!];
  const found = [await rows.vectors(ids, places), await rows.vectors(ids.slice(0, 1), places.slice(0, 1))];
  const valuesOf = (vectors: ReadonlyMap<string, Uint8Array>) =>
    new Map([...vectors].map(([id, bytes]) => [id, [...floatsOf(bytes, 2)]]));
  const expected = names.map((name, n) => [recordId(name), [n, 1]] as const);
  expect(first!.id).toBe(ids[0]);
  expect(found.map(valuesOf)).toEqual([new Map(expected), new Map(expected.slice(0, 1))]);
});

describe('plans', () => {
  /** The plans of the statements that `use` sends. */
  async function plansOf(use: (connection: Connection) => unknown): Promise<string[]> {
    const connection = new Connection(path, { readOnly: true, busyTimeoutMs: 1_000 });
    connection.paired = () => false;
    connection.grouped = () => true;
    const sent: { text: string; values: never[] }[] = [];
    for (const verb of ['get', 'all', 'tuples', 'iterate'] as const) {
      const send = connection[verb].bind(connection) as (text: string, ...values: never[]) => never;
      connection[verb] = (text: string, ...values: unknown[]): never => {
        sent.push({ text, values: values as never[] });
        return send(text, ...(values as never[]));
      };
    }
    try {
      await use(connection);
      return sent.slice().map(({ text, values }) => {
        const rows = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values);
        return rows.map(({ detail }) => detail).join('\n');
      });
    } finally {
      connection.close();
    }
  }

  test('of finds by term read the records of the term alone', async () => {
    await put(searched('a'), searched('b'));
    const finderOf = (connection: Connection) => new TermFinder(scope, async (work) => work(connection));
    const counts = await plansOf((connection) =>
      finderOf(connection).counts({ by: 'counts', ...place, terms: ['one'], max: 5 }),
    );
    expect(counts.at(-1)).toContain('VIRTUAL TABLE INDEX');
    const entries = await plansOf((connection) =>
      finderOf(connection).entries({ by: 'term', ...place, term: 'one', limit: 5 }),
    );
    expect(entries.at(-2)).toContain('SCAN t VIRTUAL TABLE INDEX');
    expect(entries.at(-2)).toContain('SEARCH e USING INTEGER PRIMARY KEY');
    expect(entries.at(-1)).toContain('SEARCH l USING INTEGER PRIMARY KEY');
    expect(entries.join('\n')).not.toContain('TEMP B-TREE');
  });

  test('of vectors are ranges of one index', async () => {
    await put(searched('a'), searched('b'));
    const ids = ['a', 'b'].map((name) => recordId(name));
    const asked: Readonly<Record<string, (rows: SlotRows) => Promise<unknown>>> = {
      'search_slots USING INDEX search_slots_by_name (search_group=? AND name=?)': (rows) => rows.state(),
      'search_vectors USING INDEX search_vectors_by_version (slot=? AND version>?)': (rows) =>
        rows.changes(0, 5),
      'SEARCH v USING INTEGER PRIMARY KEY (rowid=?)': (rows) => rows.vectors(ids),
      'SEARCH v USING INTEGER PRIMARY KEY': (rows) => rows.vectors(ids, [1, 2]),
      'SEARCH r USING INDEX records_by_id (space=? AND collection=? AND id=?)': (rows) =>
        rows.listingIds(ids),
    };
    for (const [part, ask] of Object.entries(asked)) {
      const plans = await plansOf((connection) =>
        ask(new SlotRows(async (work) => work(connection), scope, request)),
      );
      expect(plans.at(-1)).toContain(part);
      expect(plans.join('\n')).not.toMatch(/TEMP B-TREE|SCAN (?!k)/);
    }
  });

  test('of what vectors are narrowed to are ranges of one index', async () => {
    await put(searched('a'), searched('b'), unsearched('c'));
    const asked: readonly (readonly [Among, string])[] = [
      [{ equal: { rank: 'n1' } }, 'name=? AND value=? AND listing_group=?'],
      [{ range: { index: 'rank', from: 'n0', to: 'n2' } }, 'name=? AND value>? AND value<?'],
      [{ equal: { rank: 'n1', other: 'x' }, idPrefixes: ['p\u0001'] }, 'name=? AND value=?'],
      [{ idPrefixes: ['p\u0001', 'q\u0001'] }, 'listing_group=? AND listing_id>? AND listing_id<?'],
    ];
    for (const [among, part] of asked) {
      let found: readonly string[] | null = null;
      const plans = await plansOf((connection) => {
        found = idsAmong(connection, scope, place, { among, most: 9 });
      });
      expect(found).toEqual(expect.arrayContaining([recordId('a'), recordId('b')]));
      expect(found).toHaveLength(2);
      expect(plans.at(-1)).toContain(`collection=? AND ${part}`);
      expect(plans.at(-1)).toContain('SEARCH e USING INTEGER PRIMARY KEY');
      expect(plans.at(-1)).not.toMatch(/SCAN (?:e|entries|records)/);
      expect(through((connection) => idsAmong(connection, scope, place, { among, most: 2 }))).toBeNull();
    }
  });

  test('of removals find tombstones by their own index', () => {
    const plans = through((connection) =>
      [
        'DELETE FROM search_vectors WHERE slot = 1 AND id = 2 AND floats IS NULL',
        'SELECT 1 FROM search_entries WHERE search_group = 1 LIMIT 1',
      ].map((text) => connection.get<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`)?.detail),
    );
    expect(plans[0]).toContain('search_vectors_removed (slot=? AND id=?)');
    expect(plans[1]).toContain('search_entries_by_group (search_group=?)');
  });
});
