import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import {
  events,
  fullRecord,
  keyOf,
  persist,
  put,
  randomScope,
  read,
  scanAll,
  streamOf,
  together,
  transact,
} from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { openSession, openStore, usedScope } from './fixtures.ts';

const now = 1_790_000_000_000;

/** Two instances, each with connections of its own, over one schema. */
describe.skipIf(postgresMissing !== undefined)(`two stores on PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let stores: [RecordStore, RecordStore];
  const of = (index: number): RecordStore => stores[index % 2 === 0 ? 0 : 1];

  beforeAll(() => {
    stores = [openStore(schema), openStore(schema, { poolSize: 4 })];
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });

  test('no increment of one key is lost, from the first write of the scope on', async () => {
    const scope = randomScope();
    await together(24, async (index) => {
      for (let turn = 0; turn < 10; turn += 1) {
        await transact(of(index), scope, [keyOf('n')], (found) => {
          const count = Number(found.get(keyOf('n'))?.head['count'] ?? 0) + 1;
          return { writes: [{ put: { key: keyOf('n'), head: { count } } }], result: count };
        });
      }
    });
    expect((await read(of(0), scope, keyOf('n')))?.head['count']).toBe(240);
  });

  test('of two that each saw both keys absent one writes', async () => {
    for (let turn = 0; turn < 40; turn += 1) {
      const scope = await usedScope(of(turn));
      const pair = [keyOf('left'), keyOf('right')] as const;
      await together(2, (index) =>
        transact(of(index), scope, pair, (found) => {
          const absent = pair.every((key) => found.get(key) === undefined);
          const key = pair[index === 0 ? 0 : 1];
          return { writes: absent ? [{ put: { key, head: {} } }] : [], result: null };
        }),
      );
      const page = await of(turn).query(scope, { by: 'keys', keys: pair.map((key) => ({ key })) });
      expect(page.records).toHaveLength(1);
    }
  });

  test('transactions over the same records in any order neither fail nor wait in a circle', async () => {
    const pair = [openStore(schema), openStore(schema)] as const;
    const scope = await usedScope(pair[0]);
    const session = await openSession(schema);
    const before = await deadlocks(session);
    const keys = Array.from({ length: 8 }, (_, index) => keyOf(`${index}`));
    await together(24, async (index) => {
      for (let turn = 0; turn < 5; turn += 1) {
        const shuffled = keys.toSorted((left, right) =>
          keyOf(`${index}${turn}${left.id}`).id < keyOf(`${index}${turn}${right.id}`).id ? -1 : 1,
        );
        const some = shuffled.slice(0, 5);
        // Without patience: only a deadlock or a lost race that was not tried again could fail it.
        await pair[index % 2 === 0 ? 0 : 1].transact(
          scope,
          { keys: some.map((key) => ({ key })) },
          (found) => ({
            writes: some.map((key, place) => {
              if (place % 3 === 2 && found.get(key) !== undefined) return { remove: key };
              return { put: { key, head: { index, turn } } };
            }),
            result: null,
          }),
        );
      }
    });
    const many = Array.from({ length: 1_500 }, (_, index) => ({ put: { key: keyOf(`${index}`), head: {} } }));
    for (let turn = 0; turn < 5; turn += 1) {
      const fresh = await usedScope(pair[0]);
      await together(2, (index) => {
        const writes = index === 0 ? many : many.toReversed();
        const request = { keys: writes.map(({ put: { key } }) => ({ key })) };
        return pair[index === 0 ? 0 : 1].transact(fresh, request, () => ({ writes, result: null }));
      });
    }
    // A session reports at its end at the latest. A deadlock is found after a second, and the loser tries again.
    await Promise.all(pair.map((store) => store.close()));
    expect(await deadlocks(session)).toBe(before);
    await session.end();
  });

  test('no record is claimed twice, and none is left', async () => {
    const scope = await usedScope(of(0));
    const count = 400;
    const records = Array.from({ length: count }, (_, index) => ({
      ...fullRecord(`${index}`),
      key: keyOf(`${index}`, events),
      due: now - index,
    }));
    await of(0).swap(scope, streamOf(records), () => undefined);
    const won: string[] = [];
    await together(16, async (index) => {
      for (;;) {
        const claimed = await persist(() =>
          of(index).claim(scope, events, { now, limit: 7 }, (record) => ({
            put: { ...record, head: { by: index }, due: now + 1 },
            result: record.key.id,
          })),
        );
        if (claimed.length === 0) return;
        won.push(...claimed);
      }
    });
    expect(won).toHaveLength(count);
    expect(new Set(won).size).toBe(count);
  });

  test('a swap beside a writer of the other instance leaves an unbroken tail', async () => {
    const scope = await usedScope(of(0));
    let written = 0;
    const over = new AbortController();
    const writer = (async () => {
      while (!over.signal.aborted) {
        await put(of(1), scope, { key: keyOf(`line ${written}`), head: { line: written } });
        written += 1;
      }
    })();
    for (let round = 0; round < 4; round += 1) {
      const records = Array.from({ length: 300 }, (_, index): RecordData => fullRecord(`${round} ${index}`));
      await of(0).swap(scope, streamOf(records), () => undefined);
    }
    over.abort();
    await writer;
    const scanned = await scanAll(of(0), scope, ['documents'], 100);
    const lines = scanned.flatMap(({ head }) => (head['line'] === undefined ? [] : [Number(head['line'])]));
    const sorted = lines.toSorted((left, right) => left - right);
    expect(sorted).toEqual(sorted.map((_, index) => written - sorted.length + index));
    expect(scanned).toHaveLength(300 + sorted.length);
  });
});

async function deadlocks(session: Awaited<ReturnType<typeof openSession>>): Promise<number> {
  const { rows } = await session.query<{ n: number }>(
    'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return rows[0]?.n ?? 0;
}
