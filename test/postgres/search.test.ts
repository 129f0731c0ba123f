import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { plans, type Reader } from '../../functions/store/postgres/connection.ts';
import { findCounts, findEntries } from '../../functions/store/postgres/search-terms.ts';
import { type Statement } from '../../functions/store/postgres/statement.ts';
import type { SearchVector } from '../../functions/store/search.ts';
import { declared, grouped, keyOf, put, streamOf, transact, write } from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema, postgresSocketFolder } from '../support/postgres.ts';
import { openSession, openStore, openThrough, poll } from './fixtures.ts';
import { startProxy } from './proxy.ts';

const groups = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
const [first = '', second = ''] = groups;
const rareNumbers = 7;

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

function countOf(store: RecordStore, scope: Scope, term: string, group = first): Promise<number | undefined> {
  const request = { by: 'counts', collection: grouped.name, group, terms: [term], max: 10_000 } as const;
  return store.snapshot(scope, async (moment) => (await moment.find?.(request))?.counts[0]);
}

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

function flat(node: Node | undefined): Node[] {
  return node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(flat)];
}

/** Records the requests of a find, and does not answer. */
function recording(): { readonly reader: Reader; readonly sent: Statement[] } {
  const sent: Statement[] = [];
  const send = (...statements: readonly Statement[]) => {
    sent.push(...statements);
    return Promise.resolve(statements.map(() => []));
  };
  return { reader: { send: send as never }, sent };
}

describe.skipIf(postgresMissing !== undefined)(`searches in PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let store: RecordStore;
  let session: Awaited<ReturnType<typeof openSession>>;

  beforeAll(async () => {
    store = openStore(schema, { collections: declared });
    await store.ping();
    session = await openSession(schema);
  });
  afterAll(async () => {
    await store.close();
    await session.end();
  });

  async function rowsIn(table: string, where = 'true'): Promise<number> {
    const { rows } = await session.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${table} WHERE ${where}`,
    );
    return rows[0]?.n ?? 0;
  }

  async function slotOf(group: string): Promise<Record<string, string> | undefined> {
    const { rows } = await session.query<Record<string, string>>(
      'SELECT * FROM search_slots WHERE search_group = $1',
      [group],
    );
    return rows[0];
  }

  describe('by a term', () => {
    const scope = spaceScope();
    beforeAll(async () => {
      const records = groups.flatMap((group) =>
        Array.from({ length: 1_000 }, (_, n) => {
          const terms = ['same', `own${n}`, ...(n < rareNumbers ? ['rare'] : [])];
          return searched(`${group}/${n}`, { group, terms });
        }),
      );
      await store.swap(scope, streamOf(records), () => undefined);
    });

    const place = { collection: grouped.name, group: second };
    const finds: Readonly<Record<string, readonly [(reader: Reader) => Promise<unknown>, number]>> = {
      'a count of a rare term': [
        (reader) => findCounts(reader, scope, { by: 'counts', ...place, terms: ['rare'], max: 50 }),
        rareNumbers,
      ],
      'a count of terms that none has': [
        (reader) => findCounts(reader, scope, { by: 'counts', ...place, terms: ['none', 'no'], max: 50 }),
        0,
      ],
      'a walk of a rare term': [
        (reader) => findEntries(reader, scope, { by: 'term', ...place, term: 'rare', limit: 5 }),
        2 * rareNumbers,
      ],
      'a walk of a term that all have': [
        (reader) => findEntries(reader, scope, { by: 'term', ...place, term: 'same', limit: 5 }),
        1_000 + 6,
      ],
    };
    test.each(Object.entries(finds))('%s: reads no row of another group', async (_, [find, most]) => {
      const { reader, sent } = recording();
      await find(reader);
      const asked = sent.find(({ text }) => text.includes('search_entries'));
      const planner = await openSession(schema);
      await planner.query(`ANALYZE; ${plans} SET enable_bitmapscan = on`);
      const { rows } = await planner.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${asked?.text}`,
        [...(asked?.values ?? [])],
      );
      await planner.end();
      const nodes = flat(rows[0]?.['QUERY PLAN'][0]?.Plan);
      const read = nodes.filter((node) => node['Relation Name'] === 'search_entries');
      expect(read.length).toBeGreaterThan(0);
      let total = 0;
      for (const node of read) {
        expect(node['Node Type']).toMatch(/^(Bitmap Heap|Index) Scan$/);
        expect(node['Rows Removed by Filter'] ?? 0).toBe(0);
        total += node['Actual Rows'] * node['Actual Loops'];
      }
      expect(total).toBeLessThanOrEqual(most);
    });

    test('a walk of records with large entries reads their pages, and the entries of its own page alone', async () => {
      const large = spaceScope();
      const records = Array.from({ length: 1_000 }, (_each, n) => {
        const record = searched(`large ${n}`, { terms: ['same'] });
        const lexicon = randomBytes(3_000).toString('hex');
        return {
          ...record,
          search: { group: first, terms: ['same'], orderKey: `${n}`, vectors: [], lexicon },
        };
      });
      await store.swap(large, streamOf(records), () => undefined);
      const { reader, sent } = recording();
      const request = { by: 'term', collection: grouped.name, group: first, term: 'same', limit: 5 } as const;
      await findEntries(reader, large, request);
      const asked = sent.find(({ text }) => text.includes('search_entries'));
      const planner = await openSession(schema);
      await planner.query(`ANALYZE; ${plans} SET enable_bitmapscan = on`);
      const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${asked?.text}`;
      type Blocks = Readonly<Record<'Shared Hit Blocks' | 'Shared Read Blocks', number>>;
      const { rows } = await planner.query<{ 'QUERY PLAN': { Plan: Blocks }[] }>(explain, [
        ...(asked?.values ?? []),
      ]);
      await planner.end();
      const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
      const blocks = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
      expect(blocks).toBeGreaterThan(10);
      expect(blocks).toBeLessThan(300);
    });

    test('the plan of a table that was empty serves a full one, and lists keep their plans', async () => {
      const own = postgresSchema();
      const young = openStore(own, { collections: declared, poolSize: 1 });
      const home = spaceScope();
      await put(young, home, searched('x', { terms: ['same'] }));
      expect(await countOf(young, home, 'same')).toBe(1);
      const records = Array.from({ length: 3_000 }, (_, n) => searched(`n${n}`, { terms: ['same'] }));
      await young.swap(home, streamOf(records), () => undefined);
      expect(await countOf(young, home, 'same')).toBe(3_000);
      const list = { by: 'list', collection: grouped, group: first, limit: 3 } as const;
      const [count, page] = await young.snapshot(home, async (moment) => [
        (await moment.find?.({ by: 'term', collection: grouped.name, group: first, term: 'same', limit: 3 }))
          ?.entries.length,
        (await moment.query(list)).records.length,
      ]);
      expect([count, page]).toEqual([3, 3]);
      await young.close();
    });
  });

  test('a write with search entries is two round trips, each find one', async () => {
    const proxy = await startProxy();
    // Its own, so that no sweep of other tests' spaces comes in between.
    const near = openThrough(proxy, postgresSchema(), { poolSize: 1, collections: declared });
    const scope = spaceScope();
    await put(near, scope, searched('x'));
    const turnsOf = async (call: () => Promise<unknown>): Promise<number> => {
      await near.ping();
      const before = proxy.turns;
      await call();
      return proxy.turns - before;
    };
    const vectors = [vector('2a', 1, 2), vector('2b', 2, 1)];
    const records = Array.from({ length: 40 }, (_, n) => searched(`n${n}`, { terms: ['one'], vectors }));
    const keys = records.map(({ key }) => ({ key }));
    const change = (writes: readonly ({ put: RecordData } | { remove: RecordData['key'] })[]) =>
      near.transact(scope, { keys }, () => ({ writes, result: null }));
    expect(await turnsOf(() => change(records.map((record) => ({ put: record }))))).toBe(2);
    expect(await turnsOf(() => change(records.map((record) => ({ put: { ...record, search: null } }))))).toBe(
      2,
    );
    expect(await turnsOf(() => change(records.map((record) => ({ put: record }))))).toBe(2);
    expect(await turnsOf(() => change(records.map(({ key }) => ({ remove: key }))))).toBe(2);
    const place = { collection: grouped.name, group: first };
    const finds = () =>
      near.snapshot(scope, async (moment) => {
        await moment.find?.({ by: 'counts', ...place, terms: ['one', 'two'], max: 9 });
        await moment.find?.({ by: 'term', ...place, term: 'one', limit: 9 });
      });
    // The end of the snapshot is sent without a wait.
    expect(await turnsOf(finds)).toBeLessThanOrEqual(3);
    await near.close();
    await proxy.close();
  });

  test('writers of several slots take them in one order, and no version is given twice', async () => {
    const scope = spaceScope();
    const group = randomBytes(16).toString('hex');
    const slots = ['2a', '2b', '2c'];
    await put(store, scope, searched('begin'));
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => {
        const vectors = slots.map((slot) => vector(slot, n, 1));
        return put(
          store,
          scope,
          ...[0, 1].map((i) =>
            searched(`${group} ${n} ${i}`, { group, vectors: n % 2 ? vectors : vectors.toReversed() }),
          ),
        );
      }),
    );
    const { rows } = await session.query(
      `SELECT s.slot, s.version::int, s.live::int, count(DISTINCT x.version)::int AS versions
        FROM search_slots AS s JOIN search_vectors AS x ON x.slot = s.number
        WHERE s.search_group = $1 GROUP BY 1, 2, 3 ORDER BY 1`,
      [group],
    );
    expect(rows).toEqual(slots.map((slot) => ({ slot, version: 60, live: 60, versions: 60 })));
  });

  test('an unchanged vector gets no new version', async () => {
    const scope = spaceScope();
    const group = randomBytes(16).toString('hex');
    const record = (terms: string[], ...values: number[]) =>
      searched('x', { group, terms, vectors: [vector('2a', ...values)] });
    await put(store, scope, record(['one'], 1, 2));
    await put(store, scope, record(['two'], 1, 2));
    expect(await slotOf(group)).toMatchObject({ version: '1', live: '1', dead: '0' });
    await put(store, scope, record(['two'], 2, 1));
    expect(await slotOf(group)).toMatchObject({ version: '2', live: '1', dead: '0' });
  });

  test('tombstones are trimmed by later writes, and a slot without vectors ends with them', async () => {
    const scope = spaceScope();
    const group = randomBytes(16).toString('hex');
    const of = (n: number) => searched(`${group} ${n}`, { group, vectors: [vector('2a', n, 1)] });
    const records = Array.from({ length: 2_400 }, (_, n) => of(n));
    await store.swap(scope, streamOf(records), () => undefined);
    const number = (await slotOf(group))?.['number'];
    const inChunks = async (some: readonly RecordData[]) => {
      for (let at = 0; at < some.length; at += 200) {
        const keys = some.slice(at, at + 200).map(({ key }) => key);
        await transact(store, scope, keys, () => ({
          writes: keys.map((key) => ({ remove: key })),
          result: null,
        }));
      }
    };
    await inChunks(records.slice(0, 2_300));
    const trimmed = await slotOf(group);
    expect(trimmed).toMatchObject({ number, live: '100', version: '4700' });
    expect(Number(trimmed?.['trimmed'])).toBe(3_400);
    expect(await rowsIn('search_vectors', `slot = ${number} AND vector IS NULL`)).toBe(1_300);
    await inChunks(records.slice(2_300));
    await store.sweep();
    expect(await slotOf(group)).toBeUndefined();
    expect(await rowsIn('search_vectors', `slot = ${number}`)).toBe(0);
    await put(store, scope, of(1));
    expect(Number((await slotOf(group))?.['number'])).toBeGreaterThan(Number(number));
  });

  test('a swap removes all search rows of the previous space, also one by a release without searches', async () => {
    const own = postgresSchema();
    const swapped = openStore(own, { collections: declared });
    const scope = spaceScope();
    const generation = (name: string, size: number) =>
      Array.from({ length: size }, (_, n) =>
        searched(`${name} ${n}`, { terms: ['one', name], vectors: [vector('2a', n, 1)] }),
      );
    await swapped.swap(scope, streamOf(generation('old', 1_300)), () => undefined);
    await swapped.swap(scope, streamOf(generation('new', 20)), () => undefined);
    await swapped.sweep();
    const look = await openSession(own);
    const counts = async () => {
      const tables = ['search_entries', 'search_slots', 'search_vectors'];
      const selected = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
      return (await look.query(`SELECT ${selected.join(', ')}`)).rows[0];
    };
    expect(await counts()).toEqual({ search_entries: 20, search_slots: 1, search_vectors: 20 });
    await swapped.close();
    await look.query(
      `UPDATE search_entries SET space = space - 1; UPDATE search_slots SET space = space - 1`,
    );
    const next = openStore(own, { collections: declared });
    await next.ping();
    await poll(async () => ((await counts())?.search_entries === 0 ? true : undefined));
    expect(await counts()).toEqual({ search_entries: 0, search_slots: 0, search_vectors: 0 });
    await next.close();
    await look.end();
  });

  test('an account without the right to create the tables fails only if it needs them, until they exist', async () => {
    const own = postgresSchema();
    const scope = spaceScope();
    const owner = openStore(own, { collections: declared });
    await put(owner, scope, searched('a'));
    await owner.close();
    // As a database of the release before is, whose account may change rows alone.
    await session.query(`DROP TABLE ${own}.search_entries, ${own}.search_slots, ${own}.search_vectors, ${own}.search_versions;
      CREATE ROLE ${own} LOGIN; GRANT USAGE ON SCHEMA ${own} TO ${own};
      ALTER ROLE ${own} SET default_text_search_config = 'pg_catalog.german';
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${own} TO ${own}`);
    const connectionString = `host=${postgresSocketFolder()} dbname=postgres user=${own}`;
    const guest = openStore(own, { connectionString, collections: declared });
    const { search: _, ...plain } = searched('b');
    await put(guest, scope, plain);
    await write(guest, scope, [{ remove: plain.key }]);
    const clear = {
      name: 'StoreError',
      isMisconfigured: true,
      message:
        'PostgreSQL: the tables of searches are missing, and this account may not make them: start the service once with an account that may',
    };
    await expect(put(guest, scope, searched('b'))).rejects.toMatchObject(clear);
    await expect(countOf(guest, scope, 'one')).rejects.toMatchObject(clear);
    const again = openStore(own, { collections: declared });
    await again.ping();
    await again.close();
    await expect(countOf(guest, scope, 'one')).rejects.toMatchObject(clear);
    await session.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${own} TO ${own}`);
    const terms = ['der', 'the', 'Häuser', 'x'];
    await put(guest, scope, searched('b', { terms }));
    for (const term of terms) expect(await countOf(guest, scope, term)).toBe(1);
    expect(await countOf(guest, scope, 'haus')).toBe(0);
    await guest.close();
  });

  test('tables of searches of a newer release are not changed', async () => {
    const own = postgresSchema();
    const scope = spaceScope();
    const newer = openStore(own, { collections: declared });
    await newer.ping();
    await newer.close();
    await session.query(`INSERT INTO ${own}.search_versions (version) VALUES (99)`);
    const old = openStore(own, { collections: declared });
    const { search: _, ...plain } = searched('b');
    await put(old, scope, plain);
    await expect(put(old, scope, searched('b'))).rejects.toMatchObject({ isMisconfigured: true });
    await old.close();
  });
});
