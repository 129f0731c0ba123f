import { afterAll, describe, expect, test } from 'vitest';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import { firestoreMissing, firestoreOptions, firestoreProject } from '../support/firestore.ts';
import { countBill } from './bill-counter.ts';
import { openTestStore } from './fixtures.ts';

const SPACE = 'default';
const NAME = 'documents';
const policy = readPolicy({ name: NAME, indexedMetadata: ['/metadata/kind'] });
const textOf = (id: string, kind: string) =>
  JSON.stringify({ id, partitionKey: 'p', type: 'note', metadata: { kind } });

describe.skipIf(firestoreMissing !== undefined)(`the bill of records ${firestoreMissing ?? ''}`, () => {
  const project = firestoreProject();
  const { store, client } = openTestStore({ collections: serviceCollections }, project);
  const { clock, random, timers } = firestoreOptions(project);
  const world = {
    clock,
    random,
    timers,
    turns: new TurnRoom(clock),
    http: () => Promise.reject(new Error('no other service is called')),
  };
  const limits = {
    readsPerCallMax: 5_000,
    pageRecordsMax: 100,
    answerBytesMax: 4_000_000,
    readPageMax: 51,
  };
  const parts = createRecordParts({ store: () => Promise.resolve(store), world, limits });
  const bill = countBill(client);
  afterAll(() => store.close());

  test('each operation reads the head, the policy and its records, and writes its records alone', async () => {
    await createCollection(parts, SPACE, policy);
    const chunk = (kind: string, from: number, count: number) =>
      Array.from({ length: count }, (_, n) => ({ text: textOf(`r${from + n}`, kind) }));
    const options = { continueOnError: false };
    bill.take();

    // The head of the scope and the policy beside 100 records, all in one commit.
    await writeChunk(parts, SPACE, { name: NAME }, chunk('other', 0, 100), options);
    expect(bill.take()).toEqual({ calls: 2, reads: 102, writes: 100, deletes: 0 });
    await writeChunk(parts, SPACE, { name: NAME }, chunk('wanted', 100, 50), options);
    bill.take();

    await getRecord(parts, SPACE, NAME, { partitionKey: 'p', id: 'r1' });
    expect(bill.take()).toEqual({ calls: 1, reads: 3, writes: 0, deletes: 0 });

    await upsertRecord(parts, SPACE, NAME, textOf('r1', 'other'), null);
    expect(bill.take()).toEqual({ calls: 2, reads: 3, writes: 1, deletes: 0 });
    await upsertRecord(parts, SPACE, NAME, textOf('new', 'other'), { ifNoneMatch: '*' });
    expect(bill.take()).toEqual({ calls: 2, reads: 3, writes: 1, deletes: 0 });

    await deleteRecord(parts, SPACE, NAME, { partitionKey: 'p', id: 'new' });
    expect(bill.take()).toEqual({ calls: 2, reads: 3, writes: 0, deletes: 1 });

    const filter = { path: '/metadata/kind', op: 'eq', value: 'wanted' };
    const { records } = await queryRecords(parts, SPACE, NAME, { filter, limit: 60 });
    expect(records).toHaveLength(50);
    // Beside the records the head and the policy. Where there is a next page, the query and the store each look one further.
    expect(bill.take()).toEqual({ calls: 2, reads: 52, writes: 0, deletes: 0 });
    await queryRecords(parts, SPACE, NAME, { filter, limit: 40 });
    expect(bill.take()).toEqual({ calls: 2, reads: 44, writes: 0, deletes: 0 });
  });

  test('a search reads the ranked records, and the bodies of its page', async () => {
    const name = 'searched';
    const vector = { name: 'v', path: '/vectors/v/values', dimensions: 64 };
    await createCollection(parts, SPACE, readPolicy({ name, vectorPolicies: [vector] }));
    const values = (n: number) =>
      Array.from({ length: 64 }, (_, at) => (at === 0 ? 1 : at === 1 ? n / 10 : 0));
    const items = Array.from({ length: 40 }, (_, n) => {
      const content = `common ${n < 30 ? 'frequent' : 'rare'}`;
      const record = { id: `r${n}`, partitionKey: 'p', content, vectors: { v: { values: values(n) } } };
      return { text: JSON.stringify(record) };
    });
    await writeChunk(parts, SPACE, { name }, items, { continueOnError: false });
    bill.take();

    const nearest = { vector: { field: 'v', value: values(0), top: 10 } };
    expect((await searchRecords(parts, SPACE, name, nearest)).matches).toHaveLength(10);
    // The head and the policy, the ten and sixteen more that prove them, and the ten bodies. Firestore bills one more for 100 vectors.
    expect(bill.take()).toEqual({ calls: 3, reads: 38, writes: 0, deletes: 0 });

    const words = { lexical: { query: 'frequent rare' }, limit: 10 };
    expect((await searchRecords(parts, SPACE, name, words)).matches).toHaveLength(10);
    // The head and the policy, a count of each word, the candidates, none of which words are left out, and the bodies of the page.
    expect(bill.take()).toEqual({ calls: 7, reads: 2 + 2 + 40 + 1 + 10, writes: 0, deletes: 0 });
    const one = { lexical: { query: 'frequent' }, limit: 10 };
    await searchRecords(parts, SPACE, name, one);
    // A single word needs no count.
    expect(bill.take()).toEqual({ calls: 4, reads: 2 + 30 + 1 + 10, writes: 0, deletes: 0 });
  });

  test('a search reads only the candidates that it scores, and one more, which shows that others exist', async () => {
    const name = 'limited';
    await createCollection(parts, SPACE, readPolicy({ name }));
    const items = Array.from({ length: 150 }, (_, n) => ({
      text: JSON.stringify({ id: `r${n}`, partitionKey: 'p', content: 'common' }),
    }));
    for (const from of [0, 75]) {
      await writeChunk(parts, SPACE, { name }, items.slice(from, from + 75), { continueOnError: false });
    }
    bill.take();
    const search = (scanLimit: number) =>
      searchRecords(parts, SPACE, name, { lexical: { query: 'common', scanLimit }, limit: 10 });

    // The head and the policy, the candidates and one more, the bodies of the page, and for each page one that the store adds.
    expect((await search(1)).matches).toHaveLength(1);
    expect(bill.take()).toEqual({ calls: 3, reads: 2 + 1 + 1 + 1 + 1, writes: 0, deletes: 0 });
    expect((await search(50)).matches).toHaveLength(10);
    expect(bill.take()).toEqual({ calls: 3, reads: 2 + 50 + 1 + 10 + 1, writes: 0, deletes: 0 });
    expect((await search(120)).matches).toHaveLength(10);
    expect(bill.take()).toEqual({ calls: 4, reads: 2 + 120 + 1 + 10 + 2, writes: 0, deletes: 0 });
    // All of them are scored: there is no other one, also none of which words are left out.
    expect((await search(150)).matches).toHaveLength(10);
    expect(bill.take()).toEqual({ calls: 5, reads: 2 + 150 + 1 + 10 + 1, writes: 0, deletes: 0 });
  });

  test('a search of several words ends once no other record can have as many', async () => {
    const name = 'two-words';
    await createCollection(parts, SPACE, readPolicy({ name }));
    // In each four, one has both words, one has only the rare word, and two have only the frequent word.
    const contents = ['rare frequent', 'rare', 'frequent', 'frequent'];
    const items = Array.from({ length: 160 }, (_, n) => ({
      text: JSON.stringify({ id: `r${1_000 + n}`, partitionKey: 'p', content: contents[n % 4] }),
    }));
    for (const from of [0, 80]) {
      await writeChunk(parts, SPACE, { name }, items.slice(from, from + 80), { continueOnError: false });
    }
    bill.take();
    const search = (scanLimit: number) =>
      searchRecords(parts, SPACE, name, { lexical: { query: 'rare frequent', scanLimit }, limit: 5 });

    // Beside those of a search of one word a count of each. Half of the records of the rare word have both.
    expect((await search(20)).matches).toHaveLength(5);
    expect(bill.take().reads).toBe(2 + 2 + (21 + 16 + 32) + 3 + 5);
    // All that have both, and the first of the others: the rare word leads to all of the former.
    expect((await search(60)).matches).toHaveLength(5);
    expect(bill.take().reads).toBe(2 + 2 + (61 + 1 + 19) + (21 + 1) + 5);
  });
});
