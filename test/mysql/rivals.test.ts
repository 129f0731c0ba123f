import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { ClaimDecision, RecordStore } from '../../functions/store/port.ts';
import {
  documents,
  events,
  fullRecord,
  keyOf,
  put,
  randomScope,
  read,
  scanAll,
  streamOf,
  together,
  transact,
} from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase } from '../support/mysql.ts';
import { until } from './fixtures.ts';

describeMysql('two instances over one MySQL', () => {
  let database: MysqlDatabase;
  let stores: [RecordStore, RecordStore];
  const storeOf = (index: number): RecordStore => stores[index % 2 === 0 ? 0 : 1];

  beforeAll(async () => {
    database = await createMysqlDatabase();
    // More places in a lane than the other instance leaves free: rivals meet in the database, not before it.
    const open = () => openMysqlStore({ ...database.options(), poolSize: 16 });
    stores = [open(), open()];
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
  });

  test('no commit on one key is lost', async () => {
    const scope = randomScope();
    const key = keyOf('n');
    const seen = await together(200, (index) =>
      transact(storeOf(index), scope, [key], (found) => {
        const count = Number(found.get(key)?.head['count'] ?? 0) + 1;
        return { writes: [{ put: { key, head: { count } } }], result: count };
      }),
    );
    expect(seen.toSorted((left, right) => left - right)).toEqual(seen.map((_, index) => index + 1));
  });

  test('the first use of a scope is not raced', async () => {
    await together(30, async () => {
      const scope = randomScope();
      const key = keyOf('n');
      await together(6, (index) =>
        transact(storeOf(index), scope, [key], (found) => {
          const count = Number(found.get(key)?.head['count'] ?? 0) + 1;
          return { writes: [{ put: { key, head: { count } } }], result: count };
        }),
      );
      expect((await read(storeOf(0), scope, key))?.head['count']).toBe(6);
    });
  });

  test('no record is held by two claimers', async () => {
    const scope = randomScope();
    const now = 1_790_000_000_000;
    const names = Array.from({ length: 300 }, (_, index) => `${index}`.padStart(3, '0'));
    const due = names.map((name, index) => ({
      ...fullRecord(name),
      key: keyOf(name, events),
      due: now - index,
    }));
    await storeOf(0).swap(scope, streamOf(due), () => undefined);
    const lease: ClaimDecision<string> = (record) => ({
      put: { ...record, head: { state: 'leased' }, due: now + 30_000 },
      result: record.listing?.id ?? '',
    });
    const won: string[] = [];
    await together(12, async (index) => {
      for (;;) {
        const claimed = await storeOf(index).claim(scope, events, { now, limit: 7 }, lease);
        if (claimed.length === 0) return;
        won.push(...claimed);
      }
    });
    expect(won.toSorted()).toEqual(names);
  });

  test('a swap beside a writer of the other instance: the surviving writes are an unbroken tail', async () => {
    const scope = randomScope();
    await put(storeOf(0), scope, fullRecord('old'));
    let written = 0;
    const stop = new AbortController();
    const writer = (async () => {
      while (!stop.signal.aborted) {
        await put(storeOf(1), scope, { ...fullRecord(`line ${written}`), head: { line: written } });
        written += 1;
      }
    })();
    const reached = (lines: number) => until(() => Promise.resolve(written >= lines));
    await reached(5);
    const restored = Array.from({ length: 400 }, (_, index) => fullRecord(`new ${index}`));
    await storeOf(0).swap(scope, streamOf(restored), () => reached(written + 5));
    const atFlip = written;
    await reached(atFlip + 5);
    stop.abort();
    await writer;
    const scanned = await scanAll(storeOf(1), scope, [documents.name]);
    const lines = scanned.map(({ head }) => head['line']).filter((line) => line !== undefined);
    const survived = lines.map(Number).sort((left, right) => left - right);
    expect(survived).toEqual(survived.map((_, index) => written - survived.length + index));
    expect(survived.length).toBeLessThan(atFlip);
    expect(survived.length).toBeGreaterThanOrEqual(written - atFlip - 1);
    expect(scanned).toHaveLength(400 + survived.length);
  });

  test('a scan, and a read of several records, are of one moment', async () => {
    const scope = randomScope();
    const keys = Array.from({ length: 24 }, (_, index) =>
      keyOf(`${index}`, index % 2 === 0 ? documents : events),
    );
    const writes = (count: number) =>
      keys.map((key) => ({ put: { key, head: { count }, body: `${count}` } }));
    await transact(storeOf(0), scope, keys, () => ({ writes: writes(0), result: null }));
    const stop = new AbortController();
    const writer = (async () => {
      for (let count = 1; !stop.signal.aborted; count += 1) {
        await transact(storeOf(1), scope, keys, () => ({ writes: writes(count), result: null }));
      }
    })();
    try {
      for (let turn = 0; turn < 40; turn += 1) {
        const scanned = await scanAll(storeOf(0), scope, [documents.name, events.name], 2);
        expect(new Set(scanned.map(({ head }) => head['count'])).size).toBe(1);
        // Heads by one statement, bodies by another.
        const requests = keys.map(
          (key, index) => ({ key, view: index % 3 === 0 ? 'head' : 'body' }) as const,
        );
        const { records } = await storeOf(0).query(scope, { by: 'keys', keys: requests });
        expect(records).toHaveLength(keys.length);
        expect(new Set(records.map(({ head }) => head['count'])).size).toBe(1);
      }
    } finally {
      stop.abort();
      await writer;
    }
  });
});
