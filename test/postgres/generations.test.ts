import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import {
  fullRecord,
  keyOf,
  put,
  randomScope,
  read,
  scanAll,
  streamOf,
} from '../conformance/store-fixtures.ts';
import { postgresMissing, postgresSchema } from '../support/postgres.ts';
import { openSession, openStore, poll } from './fixtures.ts';

const nothing = (): void => undefined;

/** The sweep removes generations that swaps replaced, and keeps the live one and those being loaded. */
describe.skipIf(postgresMissing !== undefined)(`spaces in PostgreSQL ${postgresMissing ?? ''}`, () => {
  const schema = postgresSchema();
  let store: RecordStore;
  let session: Awaited<ReturnType<typeof openSession>>;

  beforeAll(async () => {
    store = openStore(schema);
    await store.ping();
    session = await openSession(schema);
  });
  afterAll(async () => {
    await store.close();
    await session.end();
  });

  const records = (name: string, count: number): RecordData[] =>
    Array.from({ length: count }, (_, index) =>
      fullRecord(`${name} ${index}`, {
        parts: [{ of: keyOf(name).id, order: `${index + 10_000}`, body: '{}' }],
      }),
    );

  const countIn = async (table: string): Promise<number> => {
    const { rows } = await session.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
    return rows[0]?.n ?? 0;
  };

  async function swept(live: number): Promise<void> {
    await poll(async () => ((await countIn('spaces')) === 1 ? true : undefined));
    expect(await countIn('records')).toBe(live);
    expect(await countIn('parts')).toBe(live);
    expect(await countIn('entries')).toBe(live * 2);
  }

  test('the old space is swept after a swap, in many batches, and so is a load that failed', async () => {
    const scope = randomScope();
    await store.swap(scope, streamOf(records('old', 2_300)), nothing);
    await store.swap(scope, streamOf(records('new', 40)), nothing);
    await swept(40);
    const refusing = () => Promise.reject(new Error('the hash differs'));
    await expect(store.swap(scope, streamOf(records('bad', 1_200)), refusing)).rejects.toThrow(
      'the hash differs',
    );
    await swept(40);
    expect(await scanAll(store, scope, ['documents'], 50)).toHaveLength(40);
  });

  test('a load whose process died is swept an hour later, by the next process that starts', async () => {
    await session.query(`INSERT INTO spaces (kind, name, state) VALUES ('tenants', 'dead', 'loading')`);
    await session.query(
      `INSERT INTO records (space, part_bytes, hidden, collection, id, head, listing_id)
        SELECT max(space), 0, false, 'documents', 'stray', '{}', '' FROM spaces`,
    );
    await sweepByStarting();
    expect(await countIn('spaces')).toBe(2);
    await session.query(
      `UPDATE spaces SET touched_at = now() - interval '61 minutes' WHERE state = 'loading'`,
    );
    await sweepByStarting();
    expect(await countIn('spaces')).toBe(1);
    expect((await session.query(`SELECT 1 FROM records WHERE id = 'stray'`)).rows).toEqual([]);
  });

  test('a load that counted as dead does not become live, and leaves nothing', async () => {
    const scope = randomScope();
    await put(store, scope, fullRecord('old'));
    const before = await countIn('spaces');
    async function* slow(): AsyncGenerator<RecordData> {
      yield* streamOf(records('slow', 700));
      await session.query(
        `UPDATE spaces SET touched_at = now() - interval '61 minutes' WHERE state = 'loading'`,
      );
      await sweepByStarting();
      yield* streamOf(records('rest', 700));
    }
    await expect(store.swap(scope, slow(), nothing)).rejects.toMatchObject({ failure: 'contention' });
    expect(await read(store, scope, keyOf('old'))).toBeDefined();
    expect(await read(store, scope, keyOf('rest 1'))).toBeUndefined();
    await poll(async () => ((await countIn('spaces')) === before ? true : undefined));
    expect(
      (await session.query(`SELECT 1 FROM parts WHERE filed_under = $1`, [keyOf('rest').id])).rows,
    ).toEqual([]);
  });

  test('nor does one whose check took so long', async () => {
    const scope = randomScope();
    await put(store, scope, fullRecord('old'));
    const age = async () => {
      await session.query(
        `UPDATE spaces SET touched_at = now() - interval '61 minutes' WHERE state = 'loading'`,
      );
      await sweepByStarting();
    };
    const swap = store.swap(scope, streamOf(records('late', 10)), age);
    await expect(swap).rejects.toMatchObject({ failure: 'contention' });
    expect(await read(store, scope, keyOf('old'))).toBeDefined();
  });

  /** Another instance, that starts, sweeps and ends. */
  async function sweepByStarting(): Promise<void> {
    const other = openStore(schema);
    await other.ping();
    await poll(async () => {
      const { rows } = await session.query(
        `SELECT 1 FROM spaces WHERE state = 'retired' OR touched_at < now() - interval '1 hour' AND state = 'loading'`,
      );
      return rows.length === 0 ? true : undefined;
    });
    await other.close();
  }
});
