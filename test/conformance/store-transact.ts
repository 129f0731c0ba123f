import { describe, expect, test } from 'vitest';
import type { RecordData, RecordKey, RecordStore, Scope } from '../../functions/store/port.ts';
import {
  documents,
  fullRecord,
  keyOf,
  listAll,
  plain,
  put,
  randomScope,
  read,
  together,
  transact,
} from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

export function describeTransact(suite: StoreSuite): void {
  describe('transact', () => {
    describeWrites(suite);
    describeRefusals(suite);
    describeRivals(suite);
  });
}

function describeWrites(suite: StoreSuite): void {
  test('shows no record before the first write, and returns the result', async () => {
    const store = suite.store();
    const scope = randomScope();
    const key = keyOf('a');
    const result = await transact(store, scope, [key], (found) => ({ writes: [], result: found.get(key) }));
    expect(result).toBeUndefined();
    expect(await read(store, scope, key)).toBeUndefined();
  });

  test('creates a record with every facet', async () => {
    const store = suite.store();
    const scope = randomScope();
    const head = {
      text: 'ä 😀',
      count: 42,
      share: 0.25,
      low: -7,
      yes: true,
      no: false,
      none: null,
      empty: '',
    };
    const record = fullRecord('a', {
      head,
      due: 1_790_000_000_123,
      parts: [{ of: keyOf('other').id, order: '0001', body: '{"part":"é"}' }],
    });
    await put(store, scope, record);
    expect(plain(await read(store, scope, record.key))).toEqual(plain(record));
    const shown = await transact(store, scope, [{ key: record.key, view: 'parts' }], (found) => ({
      writes: [],
      result: found.get(record.key),
    }));
    expect(plain(shown)).toEqual(plain(record));
  });

  test('creates a record with a head only', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, { key: keyOf('a'), head: {} });
    expect(plain(await read(store, scope, keyOf('a')))).toEqual(plain({ key: keyOf('a'), head: {} }));
  });

  test('a write replaces the head, and keeps body and listing where it is silent', async () => {
    const store = suite.store();
    const scope = randomScope();
    const record = fullRecord('a');
    await put(store, scope, record);
    await put(store, scope, { key: record.key, head: { revision: 2 } });
    expect(plain(await read(store, scope, record.key))).toEqual(plain({ ...record, head: { revision: 2 } }));
    const open = await listAll(store, scope, { collection: documents, equal: { status: 'open' }, limit: 5 });
    expect(open.map(({ key }) => key.id)).toEqual([record.key.id]);
  });

  test('a head view written back keeps body, listing, due and parts', async () => {
    const store = suite.store();
    const scope = randomScope();
    const parts = [{ of: keyOf('other').id, order: '1', body: 'part' }];
    const record = fullRecord('a', { due: 5, parts });
    await put(store, scope, record);
    await transact(store, scope, [record.key], (found) => {
      const shown = found.get(record.key);
      if (shown === undefined) throw new Error('not found');
      return { writes: [{ put: { ...shown, head: { ...shown.head, revision: 2 } } }], result: null };
    });
    const expected = { ...record, head: { ...record.head, revision: 2 } };
    expect(plain(await read(store, scope, record.key))).toEqual(plain(expected));
  });

  test('a body of null stores none, a listing of null leaves the lists, an absent due is never due', async () => {
    const store = suite.store();
    const scope = randomScope();
    const record = fullRecord('a', { due: 5 });
    await put(store, scope, record);
    await put(store, scope, { key: record.key, head: {}, body: null, listing: null });
    expect(plain(await read(store, scope, record.key))).toEqual(plain({ key: record.key, head: {} }));
    for (const selection of [{}, { group: 'task' }, { equal: { status: 'open' } }, { orderBy: 'rank' }]) {
      const records = await listAll(store, scope, {
        collection: documents,
        includeHidden: true,
        ...selection,
        limit: 5,
      });
      expect(records).toEqual([]);
    }
    const now = Number.MAX_SAFE_INTEGER;
    const claimed = await store.claim(scope, documents, { now, limit: 5 }, (due) => ({
      put: due,
      result: due.key.id,
    }));
    expect(claimed).toEqual([]);
  });

  test('a removed record is missing from keys, lists and parts, and may be created again', async () => {
    const store = suite.store();
    const scope = randomScope();
    const of = keyOf('other').id;
    const first = fullRecord('a', { parts: [{ of, order: '1', body: 'one' }] });
    await put(store, scope, first);
    await transact(store, scope, [first.key], () => ({ writes: [{ remove: first.key }], result: null }));
    expect(await read(store, scope, first.key)).toBeUndefined();
    expect(await listAll(store, scope, { collection: documents, orderBy: 'rank', limit: 5 })).toEqual([]);
    expect(
      (await store.query(scope, { by: 'parts', collection: documents, of, direction: 'ascending', limit: 5 }))
        .parts,
    ).toEqual([]);
    const second = fullRecord('a', { body: 'again', parts: [{ of, order: '1', body: 'two' }] });
    await put(store, scope, second);
    expect(plain(await read(store, scope, first.key))).toEqual(plain(second));
  });

  test('removing a missing record succeeds', async () => {
    const store = suite.store();
    const scope = randomScope();
    const write = { remove: keyOf('a') };
    expect(await transact(store, scope, [keyOf('a')], () => ({ writes: [write], result: 1 }))).toBe(1);
  });

  test('keeps bodies of 900,000 characters and any Unicode', async () => {
    const store = suite.store();
    const scope = randomScope();
    const long = JSON.stringify('x'.repeat(899_998));
    const odd = JSON.stringify('\u0001 \u007F é \u2028 \uE000 \uFFFD 😀 \u{10FFFF} \\ " \'');
    const mixed = JSON.stringify('grüße 😀 '.repeat(20_000));
    const bodies = [long, odd, mixed];
    const records = bodies.map((body, index) => fullRecord(`${index}`, { body }));
    for (const record of records) await put(store, scope, record);
    for (const record of records) {
      const found = await read(store, scope, record.key);
      expect(found?.body === record.body).toBe(true);
    }
  });

  test('scopes do not see each other, even of one name and two kinds', async () => {
    const store = suite.store();
    const tenant = randomScope();
    const system = { kind: 'system', name: tenant.name } as const;
    const space = { kind: 'spaces', name: tenant.name } as const;
    const odd = { kind: 'tenants', name: `__${tenant.name}.é 😀__` } as const;
    for (const scope of [tenant, system, space, odd])
      await put(store, scope, fullRecord('a', { body: scope.kind }));
    await put(store, odd, fullRecord('a', { body: 'odd' }));
    expect((await read(store, tenant, keyOf('a')))?.body).toBe('tenants');
    expect((await read(store, system, keyOf('a')))?.body).toBe('system');
    expect((await read(store, space, keyOf('a')))?.body).toBe('spaces');
    await transact(store, tenant, [keyOf('a')], () => ({ writes: [{ remove: keyOf('a') }], result: null }));
    expect(await read(store, tenant, keyOf('a'))).toBeUndefined();
    for (const other of [system, space])
      expect(await listAll(store, other, { collection: documents, limit: 5 })).toHaveLength(1);
    expect((await read(store, odd, keyOf('a')))?.body).toBe('odd');
  });
}

function describeRefusals(suite: StoreSuite): void {
  test('an error from decide ends the call with nothing written', async () => {
    const store = suite.store();
    const scope = randomScope();
    const record = fullRecord('a');
    await put(store, scope, record);
    const refusal = new Error('refused');
    const call = transact(store, scope, [record.key, keyOf('b')], () => {
      throw refusal;
    });
    await expect(call).rejects.toBe(refusal);
    expect(plain(await read(store, scope, record.key))).toEqual(plain(record));
  });

  test('a write outside the requested keys is refused with all the others', async () => {
    const store = suite.store();
    const scope = randomScope();
    for (const stray of [{ put: fullRecord('b') }, { remove: keyOf('b') }]) {
      const writes = [{ put: fullRecord('a') }, stray];
      await expect(transact(store, scope, [keyOf('a')], () => ({ writes, result: null }))).rejects.toThrow();
    }
    expect(await read(store, scope, keyOf('a'))).toBeUndefined();
    expect(await read(store, scope, keyOf('b'))).toBeUndefined();
  });

  test('expectAbsent is a hint: decide gets the existing record', async () => {
    const store = suite.store();
    const scope = randomScope();
    const record = fullRecord('a');
    await put(store, scope, record);
    const keys = [{ key: record.key, view: 'body', expectAbsent: true }, { key: keyOf('b') }] as const;
    const seen = await transact(store, scope, keys, (found) => {
      const before = found.get(record.key);
      if (before === undefined) {
        return { writes: [{ put: fullRecord('a', { body: 'overwritten' }) }], result: undefined };
      }
      return { writes: [{ put: fullRecord('b') }], result: before.body };
    });
    expect(seen).toBe(record.body);
    expect((await read(store, scope, record.key))?.body).toBe(record.body);
    expect(await read(store, scope, keyOf('b'))).toBeDefined();
  });

  test('expectAbsent guards a key that is not written', async () => {
    const store = suite.store();
    const scope = randomScope();
    await put(store, scope, fullRecord('a'));
    const keys = [{ key: keyOf('a'), expectAbsent: true }, { key: keyOf('b') }];
    const seen = await transact(store, scope, keys, (found) => {
      const there = found.get(keyOf('a')) !== undefined;
      return { writes: there ? [] : [{ put: fullRecord('b') }], result: there };
    });
    expect(seen).toBe(true);
    expect(await read(store, scope, keyOf('b'))).toBeUndefined();
  });
}

function counter(name: string, count: number): RecordData {
  return { key: keyOf(name), head: { count } };
}

function describeRivals(suite: StoreSuite): void {
  test('no increment of concurrent callers is lost', async () => {
    const store = suite.store();
    const { contenders, turns } = suite.scale;
    const scope = randomScope();
    await together(contenders, async () => {
      for (let turn = 0; turn < turns; turn += 1) {
        await transact(store, scope, [keyOf('n')], (found) => {
          const count = Number(found.get(keyOf('n'))?.head['count'] ?? 0) + 1;
          return { writes: [{ put: counter('n', count) }], result: count };
        });
      }
    });
    expect((await read(store, scope, keyOf('n')))?.head['count']).toBe(contenders * turns);
  });

  test('a key that is only read is guarded: two doctors never both leave', async () => {
    const store = suite.store();
    const scope = randomScope();
    const pair = [keyOf('left'), keyOf('right')] as const;
    for (let turn = 0; turn < suite.scale.turns; turn += 1) {
      await put(store, scope, counter('left', 1), counter('right', 1));
      await together(2, (index) =>
        transact(store, scope, pair, (found) => {
          const present = pair.filter((key) => found.get(key)?.head['count'] === 1).length;
          const next = counter(index === 0 ? 'left' : 'right', 0);
          return { writes: present === 2 ? [{ put: next }] : [], result: null };
        }),
      );
      const { records } = await store.query(scope, { by: 'keys', keys: pair.map((key) => ({ key })) });
      expect(records.filter(({ head }) => head['count'] === 1)).toHaveLength(1);
    }
  });

  test('an absent key that is only read is guarded', async () => {
    const store = suite.store();
    for (let turn = 0; turn < suite.scale.turns; turn += 1) {
      const scope = randomScope();
      const pair = [keyOf('left'), keyOf('right')] as const;
      await together(2, (index) =>
        transact(store, scope, pair, (found) => {
          const absent = pair.every((key) => found.get(key) === undefined);
          const name = index === 0 ? 'left' : 'right';
          return { writes: absent ? [{ put: counter(name, 1) }] : [], result: null };
        }),
      );
      const { records } = await store.query(scope, { by: 'keys', keys: pair.map((key) => ({ key })) });
      expect(records).toHaveLength(1);
    }
  });

  test('of concurrent callers behind one gate exactly one creates', async () => {
    const store = suite.store();
    const scope = randomScope();
    const gate = keyOf('receipt');
    const outcomes = await together(suite.scale.contenders, (index) =>
      transact(
        store,
        scope,
        [{ key: gate, view: 'body', expectAbsent: true }, { key: keyOf('n') }],
        (found) => {
          const before = found.get(gate);
          if (before !== undefined) return { writes: [], result: before.body };
          const count = Number(found.get(keyOf('n'))?.head['count'] ?? 0) + 1;
          const receipt = { key: gate, head: {}, body: `by ${index}` };
          return { writes: [{ put: receipt }, { put: counter('n', count) }], result: receipt.body };
        },
        gate,
      ),
    );
    expect(new Set(outcomes).size).toBe(1);
    expect((await read(store, scope, keyOf('n')))?.head['count']).toBe(1);
    expect((await read(store, scope, gate))?.body).toBe(outcomes[0]);
  });

  test('records written together are seen together by a decision that writes', async () => {
    const seen = keyOf('seen');
    await besideWriter(suite, async (store, scope, pair) => {
      const equal = await transact(store, scope, [...pair, seen], (found) => ({
        writes: [{ put: counter('seen', Number(found.get(seen)?.head['count'] ?? 0) + 1) }],
        result: isOneMoment(pair.map((key) => found.get(key))),
      }));
      expect(equal).toBe(true);
    });
  });

  const { tornReads } = suite;
  const skipped = tornReads === undefined ? '' : ` (skipped: ${tornReads})`;
  test.skipIf(tornReads !== undefined)(
    `records written together are seen together by reads, and by a decision that writes nothing${skipped}`,
    async () => {
      await besideWriter(suite, async (store, scope, pair) => {
        const { records } = await store.query(scope, { by: 'keys', keys: pair.map((key) => ({ key })) });
        expect(isOneMoment(records)).toBe(true);
        const equal = await transact(store, scope, pair, (found) => ({
          writes: [],
          result: isOneMoment(pair.map((key) => found.get(key))),
        }));
        expect(equal).toBe(true);
      });
    },
  );
}

/** Reads two records repeatedly while another caller writes both at once. */
async function besideWriter(
  suite: StoreSuite,
  look: (store: RecordStore, scope: Scope, pair: readonly RecordKey[]) => Promise<void>,
): Promise<void> {
  const store = suite.store();
  const scope = randomScope();
  const pair = [keyOf('left'), keyOf('right')] as const;
  await put(store, scope, counter('left', 0), counter('right', 0));
  const stop = new AbortController();
  const writer = (async () => {
    for (let count = 1; count <= suite.scale.turns * 4; count += 1) {
      const writes = [{ put: counter('left', count) }, { put: counter('right', count) }];
      await transact(store, scope, pair, () => ({ writes, result: null }));
    }
  })().finally(() => stop.abort());
  while (!stop.signal.aborted) await look(store, scope, pair);
  await writer;
}

function isOneMoment(records: readonly (RecordData | undefined)[]): boolean {
  return new Set(records.map((record) => record?.head['count'])).size === 1;
}
