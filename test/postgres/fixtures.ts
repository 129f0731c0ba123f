import { Client } from 'pg';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../functions/store/postgres/store.ts';
import { randomScope, transact } from '../conformance/store-fixtures.ts';
import { postgresOptions, postgresUrl } from '../support/postgres.ts';
import type { Proxy } from './proxy.ts';

export function openStore(schema: string, changes: Partial<PostgresStoreOptions> = {}): RecordStore {
  return openPostgresStore({ ...postgresOptions(schema), ...changes });
}

/** The same database, by way of the proxy. */
export function openThrough(
  proxy: Proxy,
  schema: string,
  changes: Partial<PostgresStoreOptions> = {},
): RecordStore {
  return openStore(schema, { connectionString: postgresUrl(proxy.folder), ...changes });
}

/** A session beside the stores, that sees their tables. */
export async function openSession(schema: string): Promise<Client> {
  const client = new Client({ connectionString: postgresUrl() });
  await client.connect();
  await client.query(`SET search_path = ${schema}`);
  return client;
}

/** A scope that has been written already, so that its first write is not in the way. */
export async function usedScope(store: RecordStore): Promise<Scope> {
  const scope = randomScope();
  const key = { collection: 'marks', id: '0'.repeat(32) };
  await transact(store, scope, [key], () => ({ writes: [{ put: { key, head: {} } }], result: null }));
  return scope;
}

/** The sessions that wait for a lock of `session`, once they are `count`. */
export async function waitersOf(session: Client, watcher: Client, count = 1): Promise<number[]> {
  const { rows: own } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return poll(async () => {
    const { rows } = await watcher.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
      [own[0]?.pid],
    );
    return rows.length >= count ? rows.map(({ pid }) => pid) : undefined;
  });
}

/** The first answer that is not `undefined`. */
export async function poll<R>(ask: () => Promise<R | undefined>, timeoutMs = 60_000): Promise<R> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > until) throw new Error('it did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

export function latch(): Latch {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** With the zero that ends a statement: `READ COMMITTED` is none. */
export function isCommit(bytes: Buffer): boolean {
  return bytes.includes('COMMIT\0');
}

/** Holds the first packet with a COMMIT: `reached` opens when it arrives, and it passes on when `release` opens. */
export function holdCommit(proxy: Proxy): { reached: Latch; release: Latch } {
  const held = { reached: latch(), release: latch() };
  proxy.onRequest = (bytes) => {
    if (!isCommit(bytes)) return 'pass';
    proxy.onRequest = () => 'pass';
    held.reached.open();
    return held.release.opened;
  };
  return held;
}
