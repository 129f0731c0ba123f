import type { Decision, LoadedRecords, Scope, TransactRequest } from '../port.ts';
import { checkWrites } from '../requested.ts';
import type { Connection } from './connection.ts';
import { isRefused, keptStatement, keysMax, seenBytes, unlockedRows, unlockedStatement } from './kept.ts';
import { readingOf } from './read.ts';
import { nameOf, type RecordRow, recordOf, widestViews } from './rows.ts';
import type { SearchTables } from './search-schema.ts';
import { entriesReading, searchWrites, storedEntries } from './search-write.ts';
import { lockScope } from './space.ts';
import { BEGIN } from './statement.ts';
import { writesOf } from './write.ts';

/** `undefined` when the scope must be created first, so that there is a row to lock. */
export interface TransactOutcome<R> {
  readonly result: R;
}

/** Parts take a statement of their own, and search entries one of their tables: those calls lock before they read. */
export function mustLock({ kind }: Scope, { keys }: TransactRequest): boolean {
  return (
    kind === 'spaces' ||
    keys.length === 0 ||
    keys.length > keysMax ||
    keys.some(({ view }) => view === 'parts')
  );
}

/**
 * Two round trips: read, then lock, compare, write and commit. Only the second holds the lock of the scope, which
 * guards every key. The call locks before it reads after a lost race (`lost`), when it read more than one statement
 * should carry (`large`), and when there is no row to lock (`undefined`).
 */
export async function transactUnlocked<R>(
  connection: Connection,
  search: SearchTables,
  scope: Scope,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
): Promise<TransactOutcome<R> | 'lost' | 'large' | undefined> {
  const [answer] = await connection.send(unlockedStatement(scope, request.keys));
  const { space, rows } = unlockedRows(answer);
  const views = widestViews(request.keys);
  const { writes, result } = decide({
    get: (key) => {
      const row = rows.get(nameOf(key));
      const asked = views.get(nameOf(key));
      return row === undefined || asked === undefined ? undefined : recordOf(row, asked.view);
    },
  });
  checkWrites(writes, request.keys);
  search.check(writes, scope);
  if (writes.length === 0) return { result };
  if (space === undefined) return undefined;
  const guarded = request.keys.filter(({ unguarded }) => unguarded !== true);
  const keys = [...widestViews(guarded).keys()].flatMap((name) => views.get(name) ?? []);
  if (seenBytes({ rows, keys }) > connection.valuesBytes) return 'large';
  const check = keptStatement({ scope, space, rows, keys });
  try {
    await connection.commit(BEGIN, lockScope(scope), check, ...writesOf(space, writes, rows));
  } catch (error) {
    if (!isRefused(error)) throw error;
    await connection.rollback();
    return 'lost';
  }
  return { result };
}

/** Two round trips: lock and read, write and commit. */
export async function transactIn<R>(
  connection: Connection,
  search: SearchTables,
  scope: Scope,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
): Promise<TransactOutcome<R> | undefined> {
  const reading = readingOf(scope, request.keys);
  const guarded = request.keys.filter(({ unguarded }) => unguarded !== true).map(({ key }) => key);
  const searched = (await search.takesPart(connection, scope)) ? entriesReading(scope, guarded) : [];
  const asked = [...reading.statements, ...searched];
  const [, locked, ...answers] = await connection.send(BEGIN, lockScope(scope), ...asked);
  const found = reading.records(answers.slice(0, reading.statements.length));
  const { writes, result } = decide({ get: (key) => found.get(nameOf(key))?.record });
  checkWrites(writes, request.keys);
  search.check(writes, scope);
  if (writes.length === 0) {
    connection.leave();
    return { result };
  }
  const space = locked.rows[0]?.space;
  if (space === undefined) {
    // Nothing was locked, so a rival may have written since; decided again once there is a row to lock.
    connection.leave();
    return undefined;
  }
  const stored = new Map<string, RecordRow>([...found].map(([name, { row }]) => [name, row]));
  const entries = storedEntries(answers.slice(reading.statements.length));
  const searches = searched.length === 0 ? [] : searchWrites(space, writes, entries);
  await connection.commit(...writesOf(space, writes, stored), ...searches);
  return { result };
}
