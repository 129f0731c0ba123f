import { describe, expect, test } from 'vitest';
import type { ClaimDecision, RecordData } from '../../functions/store/port.ts';
import { events, keyOf, listAll, persist, put, randomScope, read, together } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

const now = 1_790_000_000_000;

function event(name: string, due: number | null): RecordData {
  return {
    key: keyOf(name, events),
    head: { state: 'ready', attempts: 0 },
    body: JSON.stringify({ name }),
    listing: { group: 'ready', id: name, hidden: false, indexes: {} },
    due,
  };
}

/** Takes a lease, as an outbox does: the record becomes due again when the lease ends. */
const lease: ClaimDecision<string> = (record) => ({
  put: {
    ...record,
    head: { state: 'leased', attempts: Number(record.head['attempts']) + 1 },
    due: now + 30_000,
  },
  result: record.listing?.id ?? '',
});

export function describeClaim(suite: StoreSuite): void {
  describe('claim', () => {
    describeOne(suite);
    describeMany(suite);
  });
}

function describeOne(suite: StoreSuite): void {
  test('offers due records, earliest first, then by listing id, up to the limit', async () => {
    const store = suite.store();
    const scope = randomScope();
    const later = [event('never', null), event('future', now + 1)];
    const due = [
      event('d', now - 2),
      event('b', now - 5),
      event('a', now),
      event('e', now - 2),
      event('c', now - 2),
    ];
    await put(store, scope, ...later, ...due);
    const offers: number[] = [];
    const first = await store.claim(scope, events, { now, limit: 3 }, (record, offer) => {
      offers.push(offer);
      return lease(record, offer);
    });
    expect(first).toEqual(['b', 'c', 'd']);
    expect(new Set(offers).size).toBe(offers.length);
    expect(await store.claim(scope, events, { now, limit: 10 }, lease)).toEqual(['e', 'a']);
    expect(await store.claim(scope, events, { now, limit: 10 }, lease)).toEqual([]);
    expect(await store.claim(scope, events, { now: now + 29_999, limit: 10 }, lease)).toEqual(['future']);
    expect((await store.claim(scope, events, { now: now + 30_000, limit: 10 }, lease)).toSorted()).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
      'future',
    ]);
  });

  test('offers the record with body and listing, and writes the decision', async () => {
    const store = suite.store();
    const scope = randomScope();
    const record = event('a', now - 1);
    await put(store, scope, record);
    const seen = await store.claim(scope, events, { now, limit: 1 }, (offered) => ({
      put: {
        key: offered.key,
        head: { state: 'delivered' },
        listing: { group: 'delivered', id: 'a', hidden: false, indexes: {} },
      },
      result: offered,
    }));
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject(record);
    expect(await read(store, scope, record.key)).toMatchObject({
      head: { state: 'delivered' },
      body: record.body,
    });
    expect((await read(store, scope, record.key))?.due ?? null).toBeNull();
    const delivered = await listAll(store, scope, { collection: events, group: 'delivered', limit: 5 });
    expect(delivered.map(({ key }) => key.id)).toEqual([record.key.id]);
    expect(await listAll(store, scope, { collection: events, group: 'ready', limit: 5 })).toEqual([]);
    expect(await store.claim(scope, events, { now: now * 2, limit: 5 }, lease)).toEqual([]);
  });

  test('skips records without a decision, and continues until the limit is won', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(
      store,
      scope,
      ...Array.from({ length: 30 }, (_, index) => event(`${index + 10}`, now - 100 + index)),
    );
    const won = await store.claim(scope, events, { now, limit: 3 }, (record, offer) =>
      Number(record.listing?.id) % 9 === 0 ? lease(record, offer) : null,
    );
    expect(won).toEqual(['18', '27', '36']);
    expect(await read(store, scope, keyOf('10', events))).toMatchObject({ due: now - 100 });
  });

  test('a write without a result is made, wins nothing and does not count', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, event('a', now - 3), event('b', now - 2), event('c', now - 1));
    const won = await store.claim(scope, events, { now, limit: 2 }, (record, offer) =>
      record.listing?.id === 'a'
        ? { put: { ...record, head: { state: 'dead' }, due: null } }
        : lease(record, offer),
    );
    expect(won).toEqual(['b', 'c']);
    const parked = await read(store, scope, keyOf('a', events));
    expect(parked).toMatchObject({ head: { state: 'dead' } });
    expect(parked?.due ?? null).toBeNull();
  });

  test('an error of decide ends the call; collections and scopes are independent', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, event('a', now - 1));
    const refusal = new Error('refused');
    const call = store.claim(scope, events, { now, limit: 1 }, () => {
      throw refusal;
    });
    await expect(call).rejects.toBe(refusal);
    const other = { name: 'documents', pairedIndexes: true };
    expect(await store.claim(scope, other, { now, limit: 5 }, lease)).toEqual([]);
    expect(await store.claim(randomScope(), events, { now, limit: 5 }, lease)).toEqual([]);
    expect(await store.claim(scope, events, { now, limit: 5 }, lease)).toEqual(['a']);
  });
}

function describeMany(suite: StoreSuite): void {
  test('each of concurrent claimers wins its own', async () => {
    const store = suite.store();
    const scope = randomScope();
    const count = 40;
    await put(store, scope, ...Array.from({ length: count }, (_, index) => event(`${index}`, now - index)));
    const won: string[] = [];
    await together(6, async () => {
      for (let turn = 0; turn < 60; turn += 1) {
        const claimed = await persist(() => store.claim(scope, events, { now, limit: 4 }, lease));
        expect(claimed.length).toBeLessThanOrEqual(4);
        if (claimed.length === 0) return;
        won.push(...claimed);
      }
    });
    // A claimer that lost every offer may return nothing while others continue; the remaining records are still due.
    won.push(...(await store.claim(scope, events, { now, limit: count }, lease)));
    expect(won.toSorted()).toEqual(Array.from({ length: count }, (_, index) => `${index}`).toSorted());
    const records = await listAll(store, scope, { collection: events, group: 'ready', limit: 100 });
    expect(records.map(({ head }) => head['attempts'])).toEqual(Array.from({ length: count }, () => 1));
  });

  test('a claim and a rival transaction never both win one record', async () => {
    const store = suite.store();
    const scope = randomScope();
    for (let turn = 0; turn < suite.scale.turns; turn += 1) {
      const record = event(`${turn}`, now - 1);
      await put(store, scope, record);
      const [claimed, cancelled] = await Promise.all([
        persist(() => store.claim(scope, events, { now, limit: 1 }, lease)),
        persist(() =>
          store.transact(scope, { keys: [{ key: record.key }] }, (found) => {
            const before = found.get(record.key);
            if (before?.head['state'] !== 'ready') return { writes: [], result: false };
            const next = { key: record.key, head: { state: 'cancelled' }, due: null };
            return { writes: [{ put: next }], result: true };
          }),
        ),
      ]);
      expect(claimed.length + Number(cancelled)).toBe(1);
    }
  });
}
