import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findCounts, findEntries } from '../../functions/store/mysql/search-terms.ts';
import type { Snapshot } from '../../functions/store/mysql/snapshot.ts';
import type { Statement } from '../../functions/store/mysql/statement.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import type { SearchVector } from '../../functions/store/search.ts';
import { grouped, keyOf, put, streamOf, transact, write } from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase, mysqlServer } from '../support/mysql.ts';
import { rowsOf, until } from './fixtures.ts';
import { openProxy } from './proxy.ts';

const groups = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
const [first = '', second = ''] = groups;

function spaceScope(): Scope {
  return { kind: 'spaces', name: `space-${randomBytes(8).toString('hex')}` };
}

interface Parts {
  readonly group?: string;
  readonly terms?: readonly string[];
  readonly vectors?: readonly SearchVector[];
}

function searched(name: string, { group = first, terms = [], vectors = [] }: Parts = {}): RecordData {
  const listing = { group, id: name, hidden: false, indexes: {} };
  const search = { group, terms, orderKey: name, lexicon: `of ${name}`, vectors };
  return { key: keyOf(name, grouped), head: {}, body: '{}', listing, search };
}

function vector(slot: string, ...values: number[]): SearchVector {
  return { slot, metric: 'cosine', values: Float32Array.from(values) };
}

function countOf(store: RecordStore, scope: Scope, term: string): Promise<number | undefined> {
  const request = {
    by: 'counts',
    collection: grouped.name,
    group: first,
    terms: [term],
    max: 10_000,
  } as const;
  return store.snapshot(scope, async (moment) => (await moment.find?.(request))?.counts[0]);
}

/** Records the requests of a find, and does not answer. */
function recording(): { readonly snapshot: Snapshot; readonly sent: Statement[] } {
  const sent: Statement[] = [];
  const send = (...statements: readonly Statement[]) => {
    sent.push(...statements);
    return Promise.resolve(statements.map(() => ({ rows: [], matched: 0, insertId: 0 })));
  };
  return { snapshot: { send } as unknown as Snapshot, sent };
}

describeMysql('searches in MySQL', () => {
  let database: MysqlDatabase;
  let store: RecordStore;
  beforeAll(async () => {
    database = await createMysqlDatabase();
    store = openMysqlStore(database.options());
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  async function slotOf(group: string): Promise<Record<string, unknown> | undefined> {
    const [row] = await rowsOf(database, `SELECT * FROM svc_search_slots WHERE search_group = '${group}'`);
    return row;
  }

  const place = { collection: grouped.name, group: second };
  const home = spaceScope();
  const finds: Readonly<Record<string, readonly [(snapshot: Snapshot) => Promise<unknown>, number]>> = {
    'a count of a rare term': [
      (snapshot) => findCounts(snapshot, home, { by: 'counts', ...place, terms: ['rare'], max: 50 }),
      7,
    ],
    'a count with a maximum': [
      (snapshot) => findCounts(snapshot, home, { by: 'counts', ...place, terms: ['same'], max: 50 }),
      50,
    ],
    'a walk of a rare term': [
      (snapshot) => findEntries(snapshot, home, { by: 'term', ...place, term: 'rare', limit: 5 }),
      7,
    ],
    'a walk of a term that all have': [
      (snapshot) =>
        findEntries(snapshot, home, { by: 'term', ...place, term: 'same', limit: 5, after: '8'.repeat(32) }),
      7,
    ],
  };
  test.each(Object.entries(finds))(
    '%s: reads no row of another group, nor more than it answers',
    async (_, [find, most]) => {
      const records = groups.flatMap((group) =>
        Array.from({ length: 300 }, (_each, n) =>
          searched(`${group}/${n}`, { group, terms: ['same', `own${n}`, ...(n < 7 ? ['rare'] : [])] }),
        ),
      );
      await store.swap(home, streamOf(records), () => undefined);
      const { snapshot, sent } = recording();
      await find(snapshot);
      const { text = '', values = [] } = sent[0] ?? {};
      const session = await database.connect();
      await session.query('FLUSH STATUS');
      await session.query(text.replace(/\{(\w+)\}/g, '`svc_$1`'), [...values]);
      const [status] = await session.query(`SHOW SESSION STATUS LIKE 'Handler_read%'`);
      await session.end();
      const reads = (status as { Variable_name: string; Value: string }[]).filter(
        ({ Variable_name: name }) =>
          !name.endsWith('_deleted') && !name.includes('_tmp') && !name.endsWith('_rnd_next'),
      );
      const total = reads.reduce((sum, { Value }) => sum + Number(Value), 0);
      // The scope's row, and for each row of the term its step and its entry.
      expect(total).toBeLessThanOrEqual(2 * most + 3);
    },
  );

  test('a write with search entries is two round trips, each find one', async () => {
    // Its own, so that no sweep of other tests' spaces comes in between.
    const own = await createMysqlDatabase();
    const proxy = await openProxy(own);
    const options = { ...own.options(), poolSize: 1, connectionString: proxy.connectionString };
    const near = openMysqlStore(options);
    const scope = spaceScope();
    await put(near, scope, searched('x'));
    const turnsOf = async (call: () => Promise<unknown>): Promise<number> => {
      await near.ping();
      const before = proxy.turns;
      await call();
      return proxy.turns - before;
    };
    const vectors = [vector('2a', 1, 2), vector('2b', 2, 1)];
    const terms = Array.from({ length: 50 }, (_, n) => `term${n}`);
    const records = Array.from({ length: 40 }, (_, n) => searched(`n${n}`, { terms, vectors }));
    const keys = records.map(({ key }) => ({ key }));
    const change = (writes: readonly ({ put: RecordData } | { remove: RecordData['key'] })[]) =>
      near.transact(scope, { keys }, () => ({ writes, result: null }));
    expect(await turnsOf(() => change(records.map((record) => ({ put: record }))))).toBe(2);
    expect(await turnsOf(() => change(records.map((record) => ({ put: { ...record, search: null } }))))).toBe(
      2,
    );
    expect(await turnsOf(() => change(records.map((record) => ({ put: record }))))).toBe(2);
    expect(await turnsOf(() => change(records.map(({ key }) => ({ remove: key }))))).toBe(2);
    const at = { collection: grouped.name, group: first };
    const both = () =>
      near.snapshot(scope, async (moment) => {
        await moment.find?.({ by: 'counts', ...at, terms: ['one', 'two'], max: 9 });
        await moment.find?.({ by: 'term', ...at, term: 'one', limit: 9 });
      });
    // And the end of the moment.
    expect(await turnsOf(both)).toBeLessThanOrEqual(3);
    await near.close();
    await proxy.close();
    await own.drop();
  });

  test('a page of many entries ends early where their lexicons are large', async () => {
    const scope = spaceScope();
    const lexicon = 'x'.repeat(3_000_000);
    const records = Array.from({ length: 14 }, (_, n) => {
      const record = searched(`large ${n}`, { terms: ['large'] });
      return {
        ...record,
        search: { group: first, terms: ['large'], orderKey: `${n}`, vectors: [], lexicon },
      };
    });
    await store.swap(scope, streamOf(records), () => undefined);
    const at = { by: 'term', collection: grouped.name, group: first, term: 'large', limit: 600 } as const;
    const page = await store.snapshot(scope, (moment) => moment.find(at));
    expect(page.entries).toHaveLength(11);
    const rest = await store.snapshot(scope, (moment) => moment.find({ ...at, after: page.next ?? '' }));
    expect([rest.entries.length, rest.next]).toEqual([3, null]);
  });

  test('tombstones are trimmed by later writes, and a slot without vectors ends with them', async () => {
    const scope = spaceScope();
    const group = randomBytes(16).toString('hex');
    const of = (n: number) => searched(`${group} ${n}`, { group, vectors: [vector('2a', n, 1)] });
    const records = Array.from({ length: 2_400 }, (_, n) => of(n));
    await store.swap(scope, streamOf(records), () => undefined);
    const number = (await slotOf(group))?.['number'];
    const remove = async (some: readonly RecordData[]) => {
      for (let at = 0; at < some.length; at += 200) {
        const keys = some.slice(at, at + 200).map(({ key }) => key);
        const writes = keys.map((key) => ({ remove: key }));
        await transact(store, scope, keys, () => ({ writes, result: null }));
      }
    };
    await remove(records.slice(0, 2_300));
    expect(await slotOf(group)).toMatchObject({ number, live: 100, version: 4_700, trimmed: 3_400 });
    const left = `SELECT COUNT(*) AS n FROM svc_search_vectors WHERE slot = ${String(number)}`;
    expect(await rowsOf(database, left)).toEqual([{ n: 1_400 }]);
    await remove(records.slice(2_300));
    expect(await slotOf(group)).toBeUndefined();
    expect(await rowsOf(database, left)).toEqual([{ n: 0 }]);
    await put(store, scope, of(1));
    expect(Number((await slotOf(group))?.['number'])).toBeGreaterThan(Number(number));
  });

  const tables = ['spaces', 'entries', 'terms', 'slots', 'vectors'];

  test('a swap removes all search rows of the previous space, also one by a release without searches', async () => {
    const own = await createMysqlDatabase();
    const swapped = openMysqlStore(own.options());
    const scope = spaceScope();
    const generation = (name: string, size: number) =>
      Array.from({ length: size }, (_, n) =>
        searched(`${name} ${n}`, { terms: ['one', name], vectors: [vector('2a', n, 1)] }),
      );
    const counts = async () => {
      const selected = tables.map((table) => `(SELECT COUNT(*) FROM svc_search_${table}) AS ${table}`);
      return (await rowsOf(own, `SELECT ${selected.join(', ')}`))[0];
    };
    const none = { spaces: 0, entries: 0, terms: 0, slots: 0, vectors: 0 };
    await swapped.swap(scope, streamOf(generation('old', 1_300)), () => undefined);
    await swapped.swap(scope, streamOf(generation('new', 20)), () => undefined);
    await swapped.sweep();
    expect(await counts()).toEqual({ spaces: 1, entries: 20, terms: 40, slots: 1, vectors: 20 });
    await swapped.close();
    for (const table of tables.filter((name) => name !== 'vectors')) {
      await rowsOf(own, `UPDATE svc_search_${table} SET space = space + 100`);
    }
    const next = openMysqlStore(own.options());
    await next.ping();
    await until(async () => (await counts())?.['spaces'] === 0);
    expect(await counts()).toEqual(none);
    await next.close();
    await own.drop();
  });

  test('an account without the right to create the tables fails only if it needs them, until they exist', async () => {
    const own = await createMysqlDatabase();
    const scope = spaceScope();
    const owner = openMysqlStore(own.options());
    await put(owner, scope, searched('a'));
    await owner.close();
    // As a database of the release before is, whose account may change rows alone.
    const dropped = [...tables, 'versions'].map((table) => `svc_search_${table}`);
    await rowsOf(own, `DROP TABLE ${dropped.join(', ')}`);
    const name = `guest_${randomBytes(6).toString('hex')}`;
    await rowsOf(own, `CREATE USER ${name}@localhost IDENTIFIED BY 'x'`);
    await rowsOf(own, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${own.name}.* TO ${name}@localhost`);
    const { socketPath } = mysqlServer();
    const connectionString = `mysql://${name}:x@localhost/${own.name}?socketPath=${encodeURIComponent(socketPath)}`;
    const guest = openMysqlStore({ ...own.options(), connectionString });
    const { search: _, ...plain } = searched('b');
    await put(guest, scope, plain);
    await write(guest, scope, [{ remove: plain.key }]);
    const clear = {
      name: 'StoreError',
      isMisconfigured: true,
      message:
        'MySQL: the tables of searches are missing, and this account may not make them: start the service once with an account that may',
    };
    await expect(put(guest, scope, searched('b'))).rejects.toMatchObject(clear);
    await expect(countOf(guest, scope, 'one')).rejects.toMatchObject(clear);
    const again = openMysqlStore(own.options());
    await again.ping();
    await put(guest, scope, searched('b', { terms: ['one', 'the', 'Ü'] }));
    for (const term of ['one', 'the', 'Ü']) expect(await countOf(guest, scope, term)).toBe(1);
    expect(await countOf(guest, scope, 'ü')).toBe(0);
    await rowsOf(own, 'INSERT INTO svc_search_versions (version) VALUES (99)');
    const old = openMysqlStore(own.options());
    await put(old, scope, plain);
    await expect(put(old, scope, searched('b'))).rejects.toMatchObject({ isMisconfigured: true });
    await Promise.all([guest.close(), again.close(), old.close()]);
    await rowsOf(own, `DROP USER ${name}@localhost`);
    await own.drop();
  });
});
