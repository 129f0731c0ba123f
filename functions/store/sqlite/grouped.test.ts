import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { machine } from '../../compose/machine.ts';
import { cursorOf } from '../list-plan.ts';
import type { ListSelection, RecordStore } from '../port.ts';
import { Connection } from './connection.ts';
import { countPage, findPlaces } from './list.ts';
import { openSqliteStore } from './store.ts';

const collection = { name: 'records', pairedIndexes: false, listedByGroup: true } as const;
const scope = { kind: 'spaces', name: 'default' } as const;
const group = 'b'.repeat(32);
const key = { collection: 'records', id: '0'.repeat(32) };
let folder: string;
let store: RecordStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grouped-'));
  store = await openSqliteStore({ path: join(folder, 'store.db'), ...machine, collections: [collection] });
  const listing = { group, id: 'p\u0001a', hidden: false, indexes: { rank: 'n1' } };
  const write = { put: { key, head: {}, listing } };
  await store.transact(scope, { keys: [{ key }] }, () => ({ writes: [write], result: null }));
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const asked: Readonly<Record<string, readonly [Partial<ListSelection>, string]>> = {
  'all of it': [{}, 'listing_group=?'],
  'from an id on': [{ afterId: 'a' }, 'listing_group=? AND listing_id>?'],
  'an equality': [{ equal: { rank: 'n1' } }, 'name=? AND value=? AND listing_group=?'],
  'an equality, from an id on': [
    { equal: { rank: 'n1' }, afterId: 'a' },
    'name=? AND value=? AND listing_group=? AND listing_id>?',
  ],
  'a range': [
    { range: { index: 'rank', from: 'n0', to: 'n2' }, orderBy: 'rank' },
    'name=? AND value>? AND value<?',
  ],
};

test.each(Object.entries(asked))(
  '%s is one range of an index, whose name holds the group',
  (_, [part, columns]) => {
    const connection = new Connection(join(folder, 'store.db'), { readOnly: true, busyTimeoutMs: 1_000 });
    const sent: { readonly text: string; readonly values: readonly unknown[] }[] = [];
    const iterate = connection.eachTuple.bind(connection);
    connection.eachTuple = (text, ...values) => {
      sent.push({ text, values });
      return iterate(text, ...values);
    };
    const { places } = findPlaces(connection, 1, { by: 'list', collection, group, limit: 5, ...part });
    expect(places).toHaveLength(1);
    const [walk] = sent;
    const plan = connection.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${walk?.text ?? ''}`,
      ...((walk?.values ?? []) as string[]),
    );
    expect(plan.map(({ detail }) => detail).join('\n')).toContain(`collection=? AND ${columns}`);
    expect(plan.map(({ detail }) => detail).join('\n')).not.toMatch(/TEMP B-TREE|SCAN/);
    if (columns.startsWith('name')) expect(walk?.values).toContain(`${group}\u0001rank`);
    connection.close();
  },
);

test.each([{}, { rank: 'n1' }])('a page of a count begins where the one before ended: %j', (equal) => {
  const connection = new Connection(join(folder, 'store.db'), { readOnly: true, busyTimeoutMs: 1_000 });
  const sent: string[] = [];
  const get = connection.get.bind(connection);
  connection.get = (text, ...values) => {
    sent.push(text);
    return get(text, ...values);
  };
  const counted = { collection, group, equal, idPrefix: 'p\u0001', max: 10 };
  const lowerBounds = () => sent.at(-1)?.match(/listing_id\)? > /g);
  expect(countPage(connection, scope, counted)).toMatchObject({ count: 1, next: null });
  expect(lowerBounds()).toHaveLength(1);
  const after = cursorOf({ value: null, listing_group: group, listing_id: 'p\u0001a' });
  expect(countPage(connection, scope, { ...counted, after })).toMatchObject({ count: 0, next: null });
  // SQLite begins at the first of two, and skips all rows up to the other.
  expect(lowerBounds()).toHaveLength(1);
  connection.close();
});
