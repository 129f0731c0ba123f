import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Scope } from '../../functions/store/port.ts';
import { firestoreMissing, firestoreProject } from '../support/firestore.ts';
import {
  documents,
  events,
  keyOf,
  openTestStore,
  recordNamed,
  scopeOf,
  streamOf,
  write,
} from './fixtures.ts';
import { countRpcs, wrapRpcs } from './rpc-counter.ts';

/** Round trips decide latency, and documents the bill; both are promised in the decision record. */
describe.skipIf(firestoreMissing !== undefined)(`RPCs to Firestore ${firestoreMissing ?? ''}`, () => {
  const project = firestoreProject();
  const { store, client } = openTestStore({}, project);
  const rpcs = countRpcs(client);
  let scope: Scope;
  beforeEach(() => {
    scope = scopeOf(randomBytes(8).toString('hex'));
    rpcs.take();
  });
  afterAll(() => store.close());

  const listing = (id: string) => ({
    group: 'task',
    id,
    hidden: false,
    indexes: { status: 'open', rank: id },
  });

  test('a transaction that writes: one read, one commit', async () => {
    const keys = [{ key: keyOf('a') }, { key: keyOf('b') }, { key: keyOf('new'), expectAbsent: true }];
    const writes = [{ put: recordNamed('a') }, { put: recordNamed('new') }];
    await store.transact(scope, { keys }, () => ({ writes, result: null }));
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, commit: 1 });
  });

  test('an unguarded key: read with the others, not named in the commit, its change costs nothing', async () => {
    const pointer = keyOf('pointer');
    await write(store, scope, recordNamed('pointer'), recordNamed('a'));
    const { store: other, client: otherClient } = openTestStore({}, project);
    let committed: unknown;
    wrapRpcs(otherClient, async (method, send, request) => {
      if (method !== 'commit') return send();
      committed = request;
      await write(store, scope, recordNamed('pointer', { head: { revision: 2 } }));
      return send();
    });
    const otherRpcs = countRpcs(otherClient);
    const keys = [{ key: pointer, unguarded: true as const }, { key: keyOf('a') }];
    const seen = await other.transact(scope, { keys }, (found) => ({
      writes: [{ put: recordNamed('a', { head: { revision: 5 } }) }],
      result: found.get(pointer)?.head,
    }));
    expect(seen).toEqual({ revision: 1 });
    expect(otherRpcs.take()).toEqual({ batchGetDocuments: 1, commit: 1 });
    expect((committed as { writes: unknown[] }).writes).toHaveLength(1);
    await other.close();
  });

  test('a transaction that only reads: one read', async () => {
    await store.transact(scope, { keys: [{ key: keyOf('a') }] }, () => ({ writes: [], result: null }));
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1 });
    await store.query(scope, { by: 'keys', keys: [{ key: keyOf('a'), view: 'parts' }] });
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1 });
  });

  test('a refusal that rests on a key not looked up: one more read', async () => {
    const keys = [{ key: keyOf('a'), expectAbsent: true }];
    await store.transact(scope, { keys }, (found) => ({ writes: [], result: found.get(keyOf('a')) }));
    expect(rpcs.take()).toEqual({ batchGetDocuments: 2 });
  });

  test('a decision that never asks for a key not looked up: one read', async () => {
    await write(store, scope, recordNamed('receipt'));
    rpcs.take();
    const keys = [{ key: keyOf('receipt') }, { key: keyOf('new'), expectAbsent: true }];
    await store.transact(scope, { keys }, (found) => {
      expect(found.get(keyOf('receipt'))).toBeDefined();
      return { writes: [], result: null };
    });
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1 });
  });

  test('a record with parts: one read, one commit; its parts: one query beside one read of the head', async () => {
    const part = { of: keyOf('document').id, order: '1', body: '{}' };
    await write(store, scope, recordNamed('a', { parts: [part] }));
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, commit: 1 });
    await store.query(scope, {
      by: 'parts',
      collection: documents,
      of: part.of,
      direction: 'descending',
      limit: 5,
    });
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 1 });
  });

  test('a list from an exact index: one query beside one read of the head', async () => {
    await write(
      store,
      scope,
      ...['a', 'b', 'c'].map((name) => recordNamed(name, { listing: listing(name) })),
    );
    rpcs.take();
    for (const selection of [
      { group: 'task' },
      { includeHidden: true },
      { group: 'task', equal: { status: 'open' } },
      { equal: { status: 'open' } },
      { group: 'task', equal: { status: 'open' }, orderBy: 'rank' },
      { group: 'task', equal: { status: 'open' }, orderBy: 'rank', range: { index: 'rank', from: 'b' } },
      { orderBy: 'rank', range: { index: 'rank', from: 'a', to: 'c' } },
    ]) {
      const page = await store.query(scope, { by: 'list', collection: documents, ...selection, limit: 2 });
      expect(page.records).toHaveLength(2);
      expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 1 });
    }
  });

  test('a list with two equalities: a bounded count of each, then one query', async () => {
    await write(
      store,
      scope,
      ...['a', 'b', 'c'].map((name) => recordNamed(name, { listing: listing(name) })),
    );
    rpcs.take();
    const equal = { status: 'open', rank: 'b' };
    const page = await store.query(scope, {
      by: 'list',
      collection: documents,
      group: 'task',
      equal,
      limit: 2,
    });
    expect(page.records.map(({ key }) => key)).toEqual([keyOf('b')]);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runAggregationQuery: 2, runQuery: 1 });
  });

  test('a claim: one query beside one read of the head, one batch of writes', async () => {
    const records = ['a', 'b', 'c'].map((name) => ({ key: keyOf(name, events), head: {}, due: 5 }));
    await write(store, scope, ...records);
    rpcs.take();
    const won = await store.claim(scope, events, { now: 10, limit: 3 }, (record) => ({
      put: { ...record, due: 100 },
      result: record.key.id,
    }));
    expect(won).toHaveLength(3);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 1, batchWrite: 1 });
  });

  test('a scan: one read of the head, one query a page', async () => {
    await write(store, scope, ...['a', 'b', 'c'].map((name) => recordNamed(name)));
    rpcs.take();
    let pages = 0;
    for await (const { records } of store.scan(scope, { collections: [documents.name], pageSize: 2 }))
      pages += records.length;
    expect(pages).toBe(3);
    expect(rpcs.take()).toEqual({ batchGetDocuments: 1, runQuery: 2 });
  });

  test('a call after a swap that another instance made: one more read', async () => {
    const other = openTestStore({}, project);
    await other.store.swap(scope, streamOf([recordNamed('a')]), () => undefined);
    await other.store.close();
    rpcs.take();
    const found = await store.transact(scope, { keys: [{ key: keyOf('a') }] }, (shown) => ({
      writes: [],
      result: shown.get(keyOf('a')),
    }));
    expect(found?.head).toEqual({ revision: 1 });
    expect(rpcs.take()).toEqual({ batchGetDocuments: 2 });
  });
});
