import { describe, expect, test } from 'vitest';
import type { DueRequest, RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import { events, keyOf, put, randomScope, read } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

const now = 1_790_000_000_000;

function event(name: string, due: number | null, group = 'ready'): RecordData {
  return {
    key: keyOf(`${group} ${name}`, events),
    head: { state: group },
    body: JSON.stringify({ name }),
    listing: { group, id: name, hidden: false, indexes: {} },
    due,
  };
}

/** All pages; a page may be short or empty and still have a `next`. */
async function dueAll(store: RecordStore, scope: Scope, request: DueRequest): Promise<RecordData[]> {
  const records: RecordData[] = [];
  let next: string | null = null;
  do {
    const page = await store.due(scope, events, next === null ? request : { ...request, after: next });
    expect(page.records.length).toBeLessThanOrEqual(request.limit);
    records.push(...page.records);
    next = page.next;
  } while (next !== null);
  return records;
}

async function namesOf(store: RecordStore, scope: Scope, request: DueRequest): Promise<string[]> {
  return (await dueAll(store, scope, request)).map(({ listing }) => listing?.id ?? '');
}

/** The port's guarantees on `due`; each is a check that a store passes or fails. */
export const dueChecks: Readonly<Record<string, (store: RecordStore) => Promise<void>>> = {
  'reads what is due, earliest first, then by listing id, page by page': async (store) => {
    const scope = randomScope();
    const due = [
      event('d', now - 2),
      event('b', now - 5),
      event('a', now),
      event('é', now - 2),
      event('c', now - 2),
    ];
    // Listing ids are unique within a group only, so two records can share time and listing id.
    await put(store, scope, ...due, event('c', now - 2, 'parked'), event('never', null), event('z', now + 1));
    for (const limit of [1, 2, 3, 10]) {
      expect(await namesOf(store, scope, { now, limit })).toEqual(['b', 'c', 'c', 'd', 'é', 'a']);
    }
    expect(await namesOf(store, scope, { now: now - 6, limit: 5 })).toEqual([]);
    expect(await namesOf(store, scope, { now: now - 5, limit: 5 })).toEqual(['b']);
  },

  'without a moment, the first record has the earliest time, past or future': async (store) => {
    const scope = randomScope();
    await put(store, scope, event('never', null), event('late', now + 9_000_000), event('soon', now + 7));
    const first = await store.due(scope, events, { now: null, limit: 1 });
    expect(first.records.map(({ due }) => due)).toEqual([now + 7]);
    expect(await namesOf(store, scope, { now: null, limit: 1 })).toEqual(['soon', 'late']);
  },

  'knows moments before 1970, which libraries of some languages send for none': async (store) => {
    const scope = randomScope();
    const year1 = Date.UTC(2001, 0, 1) - 63_113_904_000_000;
    const due = [
      event('zero', 0),
      event('year1', year1),
      event('last', -1),
      event('first', -2),
      event('one', 1),
    ];
    await put(store, scope, ...due);
    const all = await dueAll(store, scope, { now, limit: 2 });
    expect(all.map(({ due: at }) => at)).toEqual([year1, -2, -1, 0, 1]);
    expect(await namesOf(store, scope, { now: -2, limit: 5 })).toEqual(['year1', 'first']);
    const lease = { now: -1, limit: 4 };
    const won = await store.claim(scope, events, lease, ({ key, head }) => ({
      put: { key, head, due: -5 },
      result: key.id,
    }));
    expect(won).toHaveLength(3);
    expect(await namesOf(store, scope, { now: null, limit: 9 })).toHaveLength(5);
  },

  'shows body and listing, and leaves every record as it was': async (store) => {
    const scope = randomScope();
    const record = event('a', now - 1);
    await put(store, scope, record);
    for (let look = 0; look < 2; look += 1) {
      expect(await dueAll(store, scope, { now, limit: 4 })).toMatchObject([record]);
    }
    expect(await read(store, scope, record.key)).toMatchObject(record);
    const lease = { now, limit: 4 };
    const won = await store.claim(scope, events, lease, ({ key, head }) => ({
      put: { key, head, due: null },
      result: key.id,
    }));
    expect(won).toEqual([record.key.id]);
    expect(await dueAll(store, scope, { now: null, limit: 4 })).toEqual([]);
  },

  'goes on after a record that is no longer due': async (store) => {
    const scope = randomScope();
    const records = ['a', 'b', 'c', 'd'].map((name) => event(name, now - 1));
    await put(store, scope, ...records);
    const first = await store.due(scope, events, { now, limit: 2 });
    await put(store, scope, ...records.slice(0, 2).map((record) => ({ ...record, due: null })));
    const after = first.next ?? '';
    expect(await namesOf(store, scope, { now, limit: 2, after })).toEqual(
      ['a', 'b', 'c', 'd'].slice(first.records.length),
    );
  },

  'collections and scopes are apart, and an empty scope has nothing due': async (store) => {
    const scope = randomScope();
    await put(store, scope, event('a', now - 1));
    const request = { now, limit: 5 };
    const documents = { name: 'documents', pairedIndexes: true };
    expect(await store.due(scope, documents, request)).toEqual({ records: [], next: null });
    expect(await store.due(randomScope(), events, request)).toEqual({ records: [], next: null });
    expect(await store.due(scope, events, { now, limit: 0 })).toEqual({ records: [], next: null });
  },

  'reads more than a page of many records': async (store) => {
    const scope = randomScope();
    const names = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, '0'));
    await put(store, scope, ...names.map((name, index) => event(name, now - 150 + index)));
    expect(await namesOf(store, scope, { now, limit: 1000 })).toEqual(names);
  },
};

export function describeDue(suite: StoreSuite): void {
  describe('due', () => {
    test.each(Object.entries(dueChecks))('%s', (_, check) => check(suite.store()));
  });
}
