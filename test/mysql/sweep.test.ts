import { expect, test } from 'vitest';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordData } from '../../functions/store/port.ts';
import {
  documents,
  fullRecord,
  keyOf,
  put,
  randomScope,
  scanAll,
  streamOf,
} from '../conformance/store-fixtures.ts';
import { createMysqlDatabase, describeMysql, type MysqlDatabase } from '../support/mysql.ts';
import { failed, rowsOf, until } from './fixtures.ts';

const hour = 60 * 60 * 1000;

describeMysql('what a swap on MySQL leaves behind', () => {
  /** Rows of each table that belong to no live space. */
  async function dead(database: MysqlDatabase): Promise<number> {
    let count = 0;
    for (const table of ['spaces', 'records', 'entries', 'parts']) {
      const sql = `SELECT COUNT(*) AS n FROM svc_${table} WHERE space NOT IN (SELECT space FROM svc_scopes)`;
      count += Number((await rowsOf(database, sql))[0]?.['n']);
    }
    return count;
  }

  function generation(name: string, size: number): RecordData[] {
    return Array.from({ length: size }, (_, index) =>
      fullRecord(`${name} ${index}`, {
        parts: [{ of: keyOf('d').id, order: `${name} ${index}`, body: 'x' }],
      }),
    );
  }

  test('is swept: the old generation, and a load that failed', async () => {
    const database = await createMysqlDatabase();
    const store = openMysqlStore(database.options());
    const scope = randomScope();
    await store.swap(scope, streamOf(generation('one', 1200)), () => undefined);
    await store.swap(scope, streamOf(generation('two', 1200)), () => undefined);
    const refused = store.swap(scope, streamOf(generation('three', 1200)), () => {
      throw new Error('the hash differs');
    });
    await expect(refused).rejects.toThrow('the hash differs');
    await until(async () => (await dead(database)) === 0);
    const scanned = await scanAll(store, scope, [documents.name], 500);
    expect(scanned.every(({ listing }) => listing?.id.startsWith('two'))).toBe(true);
    expect(scanned).toHaveLength(1200);
    await store.close();
    await database.drop();
  });

  test('of a process that died is swept by the next that opens, once it is old', async () => {
    const database = await createMysqlDatabase();
    let now = 1_790_000_000_000;
    const options = { ...database.options(), clock: { now: () => now } };
    const scope = randomScope();
    const died = openMysqlStore(options);
    await put(died, scope, fullRecord('live'));
    // Closing in mid-load is as near as a test comes: the loaded records stay, and no call can retire them.
    async function* interrupted(): AsyncGenerator<RecordData> {
      yield* streamOf(generation('load', 600));
      await died.close();
      yield* streamOf(generation('more', 600));
    }
    await failed(
      'unavailable',
      died.swap(scope, interrupted(), () => undefined),
    );
    expect(await dead(database)).toBeGreaterThan(500);

    now += hour / 2;
    const early = openMysqlStore(options);
    await early.ping();
    await early.swap(randomScope(), streamOf([]), () => undefined);
    await early.close();
    expect(await dead(database)).toBeGreaterThan(500);

    now += hour;
    const late = openMysqlStore(options);
    await late.ping();
    await until(async () => (await dead(database)) === 0);
    expect(await scanAll(late, scope, [documents.name])).toHaveLength(1);
    await late.close();
    await database.drop();
  });

  test.each(['at its end', 'in its middle'])(
    'a load that others took for dead %s does not become live',
    async (place) => {
      const database = await createMysqlDatabase();
      let now = 1_790_000_000_000;
      const options = { ...database.options(), clock: { now: () => now } };
      const scope = randomScope();
      const slow = openMysqlStore(options);
      await put(slow, scope, fullRecord('live'));
      async function* stalled(): AsyncGenerator<RecordData> {
        yield* streamOf(generation('load', 600));
        now += 2 * hour;
        const other = openMysqlStore(options);
        await other.ping();
        await until(async () => (await dead(database)) === 0);
        await other.close();
        if (place === 'in its middle') yield* streamOf(generation('more', 600));
      }
      await failed(
        'contention',
        slow.swap(scope, stalled(), () => undefined),
      );
      expect(await scanAll(slow, scope, [documents.name])).toHaveLength(1);
      // It leaves no rows in a space that no scope names any more.
      expect(await dead(database)).toBe(0);
      await slow.close();
      await database.drop();
    },
  );
});
