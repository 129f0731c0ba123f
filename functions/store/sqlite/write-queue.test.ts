import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RecordKey, type Scope, StoreError } from '../port.ts';
import { recordId } from '../record-id.ts';
import { Connection } from './connection.ts';
import { migrate } from './schema.ts';
import { transactIn } from './transact.ts';
import { WriteQueue } from './write-queue.ts';

const scope: Scope = { kind: 'system', name: 'test' };
let folder = '';

/** Counts transactions, and fails at what a test names. */
class WatchedConnection extends Connection {
  commits = 0;
  failAt: string | undefined;

  override run(
    sql: string,
    ...values: Parameters<Connection['run']> extends [string, ...infer V] ? V : never
  ) {
    if (sql === this.failAt)
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
    if (sql === 'COMMIT') this.commits += 1;
    return super.run(sql, ...values);
  }
}

let connection: WatchedConnection;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'queue-'));
  connection = openConnection();
  connection.exec('PRAGMA journal_mode = WAL');
  migrate(connection);
  connection.commits = 0;
});
afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

function openConnection(): WatchedConnection {
  return new WatchedConnection(join(folder, 'store.db'), { readOnly: false, busyTimeoutMs: 0 });
}

function queueOf(grouping: boolean, waits: number[] = []): WriteQueue {
  const timers = {
    after(delayMs: number, callback: () => void) {
      waits.push(delayMs);
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    },
  };
  return new WriteQueue({ connection, timers, random: { bytes: (size) => randomBytes(size) }, grouping });
}

function keyOf(name: string): RecordKey {
  return { collection: 'documents', id: recordId(name) };
}

function put(queue: WriteQueue, name: string, body = '{}'): Promise<string> {
  return queue.run((writer) =>
    transactIn(writer, 0, scope, { keys: [{ key: keyOf(name) }] }, () => ({
      writes: [{ put: { key: keyOf(name), head: { name }, body } }],
      result: name,
    })),
  );
}

function names(): string[] {
  return connection
    .all<{ name: string }>(`SELECT head ->> 'name' AS name FROM records ORDER BY 1`)
    .map((row) => row.name);
}

const outcome = (promise: Promise<string>): Promise<string> =>
  promise.catch((error: unknown) => (error instanceof StoreError ? error.failure : String(error)));

describe('grouping', () => {
  test('calls that wait together share one transaction, and a single call starts at once', async () => {
    const queue = queueOf(true);
    await Promise.all(['a', 'b', 'c'].map((name) => put(queue, name)));
    expect(connection.commits).toBe(1);
    await put(queue, 'd');
    expect(connection.commits).toBe(2);
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('without it each call has its own', async () => {
    const queue = queueOf(false);
    await Promise.all(['a', 'b', 'c'].map((name) => put(queue, name)));
    expect(connection.commits).toBe(3);
  });

  test('is bounded by calls and by characters, and other work goes on between groups', async () => {
    const queue = queueOf(true);
    let turns = 0;
    let going = true;
    const tick = (): void => {
      turns += 1;
      if (going) setImmediate(tick);
    };
    setImmediate(tick);
    await Promise.all(Array.from({ length: 400 }, (_, index) => put(queue, `${index}`)));
    going = false;
    expect(connection.commits).toBe(4);
    expect(turns).toBeGreaterThanOrEqual(3);
    connection.commits = 0;
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => put(queue, `large ${index}`, 'x'.repeat(2 ** 17))),
    );
    expect(connection.commits).toBe(3);
  });

  test('a call that throws affects no other, and its own writes are undone', async () => {
    const queue = queueOf(true);
    const half = queue.run((writer): string => {
      writer.run(`INSERT INTO scopes (kind, name, space) VALUES ('system', 'half', 7)`);
      throw new Error('refused');
    });
    const outcomes = await Promise.all([put(queue, 'a'), half, put(queue, 'b')].map(outcome));
    expect(outcomes).toEqual(['a', 'Error: refused', 'b']);
    expect(connection.commits).toBe(1);
    expect(names()).toEqual(['a', 'b']);
    expect(connection.get(`SELECT * FROM scopes WHERE name = 'half'`)).toBeUndefined();
  });

  test('a later call sees the writes of an earlier one of its group', async () => {
    const queue = queueOf(true);
    const counts = await Promise.all(
      Array.from({ length: 5 }, () =>
        queue.run((writer) =>
          transactIn(writer, 0, scope, { keys: [{ key: keyOf('n') }] }, (found) => {
            const count = Number(found.get(keyOf('n'))?.head['count'] ?? 0) + 1;
            return { writes: [{ put: { key: keyOf('n'), head: { count } } }], result: count };
          }),
        ),
      ),
    );
    expect(counts).toEqual([1, 2, 3, 4, 5]);
    expect(connection.commits).toBe(1);
  });
});

describe('failures', () => {
  test('when the commit fails every call of the group fails, a refusal too, and nothing is written', async () => {
    const queue = queueOf(true);
    connection.failAt = 'COMMIT';
    const refused = queue.run((): string => {
      throw new Error('refused because of what an earlier call wrote');
    });
    const outcomes = await Promise.all([put(queue, 'a'), refused, put(queue, 'b')].map(outcome));
    expect(outcomes).toEqual(['unavailable', 'unavailable', 'unavailable']);
    connection.failAt = undefined;
    expect(names()).toEqual([]);
    expect(await put(queue, 'c')).toBe('c');
  });

  test('a full disk fails one call, and smaller writes still succeed', async () => {
    for (const grouping of [true, false]) {
      const queue = queueOf(grouping);
      const pages = connection.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
      connection.exec(`PRAGMA max_page_count = ${pages + 20}`);
      const calls = [
        put(queue, `a ${grouping}`),
        put(queue, 'large', 'x'.repeat(200_000)),
        put(queue, `b ${grouping}`),
      ];
      expect(await Promise.all(calls.map(outcome))).toEqual([`a ${grouping}`, 'full', `b ${grouping}`]);
      connection.exec('PRAGMA max_page_count = 1000000');
    }
    expect(names()).toEqual(['a false', 'a true', 'b false', 'b true']);
  });

  test('when SQLite itself rolls a group back, the others run again', async () => {
    const queue = queueOf(true);
    // A full disk may or may not end the whole transaction; here it does.
    const culprit = queue.run((writer): string => {
      writer.run('ROLLBACK');
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
    });
    const outcomes = await Promise.all([put(queue, 'a'), culprit, put(queue, 'b')].map(outcome));
    expect(outcomes).toEqual(['a', 'full', 'b']);
    expect(names()).toEqual(['a', 'b']);
  });

  test('waits off the loop while another process writes, and gives up in the end', async () => {
    const waits: number[] = [];
    const queue = queueOf(true, waits);
    const rival = openConnection();
    rival.run('BEGIN IMMEDIATE');
    expect(await outcome(put(queue, 'a'))).toBe('contention');
    expect(waits.length).toBeGreaterThan(100);
    const total = waits.reduce((sum, wait) => sum + wait, 0);
    expect(total).toBeLessThan(6000);
    const waiting = put(queue, 'b');
    rival.run('ROLLBACK');
    expect(await waiting).toBe('b');
    rival.close();
  });

  test('after closing, calls that wait are answered and others refused', async () => {
    const queue = queueOf(true);
    const waiting = put(queue, 'a');
    const closed = queue.close();
    expect(await outcome(put(queue, 'b'))).toBe('unavailable');
    await closed;
    expect(await waiting).toBe('a');
  });
});
