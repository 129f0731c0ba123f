import { describe, expect, test } from 'vitest';
import type { RecordData, RecordKey, RecordStore, Scope } from '../../functions/store/port.ts';
import {
  documents,
  events,
  fullRecord,
  keyOf,
  plain,
  put,
  randomScope,
  scanAll,
  transact,
} from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

const collections = [events.name, documents.name];

export function describeScan(suite: StoreSuite): void {
  describe('scan', () => {
    test('shows whole records in the order of collection, then id, in pages of any size', async () => {
      const store = suite.store();
      const scope = randomScope();
      const records = sampleRecords(25);
      await put(store, scope, ...records);
      await put(store, scope, { key: { collection: 'receipts', id: keyOf('r').id }, head: {} });
      const expected = records.map(plain).toSorted(byCollectionAndId);
      for (const pageSize of [1, 4, 25, 50]) {
        const scanned = await scanAll(store, scope, collections, pageSize);
        expect(scanned.map(plain)).toEqual(expected);
      }
      const only = await scanAll(store, scope, [documents.name]);
      expect(only.map(plain)).toEqual(expected.filter((record) => record?.key.collection === documents.name));
    });

    test('an empty scope has no records', async () => {
      expect(await scanAll(suite.store(), randomScope(), collections)).toEqual([]);
    });

    test('sees one moment while a writer continues', async () => {
      const store = suite.store();
      const scope = randomScope();
      const accounts = Array.from({ length: 20 }, (_, index) => `${index}`);
      await put(store, scope, ...accounts.map((name) => ({ key: accountOf(name), head: { balance: 10 } })));
      for (let round = 0; round < 3; round += 1) {
        const stop = new AbortController();
        let moved = 0;
        const writer = (async () => {
          while (!stop.signal.aborted || moved < 5) {
            await move(store, scope, `${(moved * 7) % 20}`, `${(moved * 11 + 3) % 20}`);
            await put(store, scope, { key: keyOf(`new ${round} ${moved}`), head: { balance: 0 } });
            moved += 1;
          }
        })();
        const seen: RecordData[] = [];
        try {
          for await (const page of store.scan(scope, { collections, pageSize: 3 })) {
            seen.push(...page.records);
            await move(store, scope, '19', '0');
          }
        } finally {
          stop.abort();
        }
        await writer;
        const total = seen.reduce((sum, record) => sum + Number(record.head['balance']), 0);
        expect(total).toBe(200);
        expect(new Set(seen.map(({ key }) => key.id)).size).toBe(seen.length);
        expect(seen.length).toBeGreaterThanOrEqual(20);
      }
    });

    test('shows every write answered before it began', async () => {
      const store = suite.store();
      const scope = randomScope();
      for (let count = 1; count <= 5; count += 1) {
        await put(store, scope, fullRecord(`${count}`));
        expect(await scanAll(store, scope, collections)).toHaveLength(count);
      }
    });

    test('may be left early, by a break or by a fault of the reader', async () => {
      const store = suite.store();
      const scope = randomScope();
      await put(store, scope, ...sampleRecords(12));
      let pages = 0;
      for await (const page of store.scan(scope, { collections, pageSize: 2 })) {
        pages += page.records.length > 0 ? 1 : 0;
        break;
      }
      expect(pages).toBe(1);
      const failing = async (): Promise<void> => {
        for await (const page of store.scan(scope, { collections, pageSize: 2 })) {
          throw new Error(`stop at ${page.records.length}`);
        }
      };
      await expect(failing()).rejects.toThrow('stop at 2');
      await put(store, scope, fullRecord('more'));
      expect(await scanAll(store, scope, collections)).toHaveLength(13);
    });
  });
}

function sampleRecords(count: number): RecordData[] {
  return Array.from({ length: count }, (_, index) => {
    const record = fullRecord(`${index}`, {
      due: index % 2 === 0 ? index : null,
      parts:
        index % 3 === 0 ? [{ of: keyOf('document').id, order: `${index + 100}`, body: `part ${index}` }] : [],
    });
    return index % 4 === 0 ? { ...record, key: keyOf(`${index}`, events) } : record;
  });
}

function byCollectionAndId(left: RecordData | undefined, right: RecordData | undefined): number {
  const [one, other] = [left, right].map((record) => `${record?.key.collection}/${record?.key.id}`);
  return (one ?? '') < (other ?? '') ? -1 : 1;
}

/** In two collections by turns, so that one moment has to hold for both. */
function accountOf(name: string): RecordKey {
  return keyOf(name, Number(name) % 2 === 0 ? documents : events);
}

function move(store: RecordStore, scope: Scope, from: string, to: string): Promise<null> {
  if (from === to) return Promise.resolve(null);
  const pair = [accountOf(from), accountOf(to)] as const;
  return transact(store, scope, pair, (found) => {
    const [source, target] = pair.map((key) => Number(found.get(key)?.head['balance'])) as [number, number];
    const writes = [
      { put: { key: pair[0], head: { balance: source - 1 } } },
      { put: { key: pair[1], head: { balance: target + 1 } } },
    ];
    return { writes, result: null };
  });
}
