import { expect } from 'vitest';
import { StoreError, type StoreFailure } from '../../functions/store/port.ts';
import type { MysqlDatabase } from '../support/mysql.ts';

/** Calls again until the answer is as wanted. Each try is a call of its own, so the event loop continues. */
export async function until(reached: () => Promise<boolean>): Promise<void> {
  while (!(await reached())) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** Expects a failure of the store, and gives the error back for a closer look. */
export async function failed(failure: StoreFailure, call: Promise<unknown>): Promise<StoreError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect((error as StoreError).failure).toBe(failure);
  return error as StoreError;
}

/** Everything that a log might show of an error. */
export function shown(error: Error): string {
  return `${error.stack ?? ''} ${JSON.stringify(error)} ${JSON.stringify(Object.entries(error))} ${String(error.cause)}`;
}

/** The rows of one statement, on a session of its own. */
export async function rowsOf(database: MysqlDatabase, sql: string): Promise<Record<string, unknown>[]> {
  const session = await database.connect();
  try {
    const [rows] = await session.query(sql);
    return rows as Record<string, unknown>[];
  } finally {
    await session.end();
  }
}

/**
 * Sessions that wait for a lock. The server's own list of waits is a copy of some time ago; statements of the store are
 * done in a fraction of this time.
 */
export async function waitingSessions(database: MysqlDatabase): Promise<number[]> {
  return sessions(database, `command = 'Query' AND time_ms > 50`);
}

export async function killWaiting(database: MysqlDatabase): Promise<number> {
  return kill(database, await waitingSessions(database));
}

export async function killIdle(database: MysqlDatabase): Promise<number> {
  return kill(database, await sessions(database, `command = 'Sleep'`));
}

async function sessions(database: MysqlDatabase, which: string): Promise<number[]> {
  const sql = `SELECT id AS session FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID() AND ${which}`;
  return (await rowsOf(database, sql)).map(({ session }) => Number(session));
}

async function kill(database: MysqlDatabase, ids: readonly number[]): Promise<number> {
  for (const id of ids) await rowsOf(database, `KILL CONNECTION ${id}`);
  return ids.length;
}
