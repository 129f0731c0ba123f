import type { Decision, Found, RecordData, Scope, TransactRequest, Write } from '../port.ts';
import { checkWrites } from '../requested.ts';
import { arrayOf, BEGIN, type Connection, statement } from './connection.ts';
import { nothing, type Plan } from './plan.ts';
import {
  type AskedKey,
  askedKeys,
  type KeyRow,
  nameOf,
  type RecordRow,
  recordOf,
  recordRows,
  selectKeys,
} from './rows.ts';
import { LostRace, persistently, type Session } from './session.ts';
import { ensureSpace, shareScope, shareScopeAndGate } from './space.ts';
import { writesOf } from './write.ts';

/**
 * Two round trips: locks and reads, then writes and COMMIT.
 *
 * Why it is strictly serializable at READ COMMITTED: every existing record is locked from before it is read until the end,
 * in one order of keys. The read comes after the locks and is one snapshot, so it shows the locked records as they stay,
 * and which keys were absent at that moment; a record that came after the locks is not among them, and the try begins
 * again. A decision without writes, or a refusal, is true of that moment. Before writes are committed each absent key is
 * created, for good or to be removed at once: where a rival was first, the unique index refuses it. An unguarded key is
 * read in the same snapshot and is neither locked nor created.
 */
export async function transact<R>(
  session: Session,
  scope: Scope,
  request: TransactRequest,
  decide: (found: Found) => Decision<R>,
): Promise<R> {
  const keys = askedKeys(request.keys);
  for (;;) {
    const outcome = await persistently(session, (connection) =>
      attempt(session, connection, scope, request, keys, decide),
    );
    if (outcome !== 'no space') return outcome.result;
    await persistently(session, (connection) => ensureSpace(session, connection, scope));
  }
}

async function attempt<R>(
  session: Session,
  connection: Connection,
  scope: Scope,
  request: TransactRequest,
  keys: readonly AskedKey[],
  decide: (found: Found) => Decision<R>,
): Promise<{ readonly result: R } | 'no space'> {
  const { live, rows } = await readLocked(session, connection, scope, request, keys);
  const records = new Map<string, RecordData>();
  for (const { key, view } of keys) {
    const row = rows.get(nameOf(key));
    if (row !== undefined) records.set(nameOf(key), recordOf(row, view));
  }
  let decision: Decision<R>;
  try {
    decision = decide({ get: (key) => records.get(nameOf(key)) });
    checkWrites(decision.writes, request.keys);
  } catch (error) {
    connection.leave();
    throw error;
  }
  const { writes, result } = decision;
  if (writes.length === 0 || live === undefined) {
    connection.leave();
    return writes.length === 0 ? { result } : 'no space';
  }
  const plan = planOf(writes, keys, rows);
  const searched = await session.search.change(connection, scope, plan);
  await connection.commit(...writesOf(live, { ...plan, searched }, session));
  return { result };
}

const lockKeys = `
  SELECT r.collection, r.id FROM unnest($3::text[], $4::text[]) AS k (collection, id)
  CROSS JOIN LATERAL (
    SELECT r.collection, r.id FROM records AS r
    WHERE r.space = (SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2)
      AND r.collection = k.collection AND r.id = k.id
    FOR UPDATE OF r
  ) AS r`;

interface Reading {
  readonly live: string | undefined;
  readonly rows: ReadonlyMap<string, RecordRow>;
}

/** Each in a statement of its own: a statement that has waited for a lock still sees the state before its wait. */
async function readLocked(
  session: Session,
  connection: Connection,
  scope: Scope,
  { gate }: TransactRequest,
  keys: readonly AskedKey[],
): Promise<Reading> {
  const place = [scope.kind, scope.name] as const;
  const guarded = keys.filter((asked) => asked.guarded);
  const [, , locked, read] = await connection.send(
    BEGIN,
    gate === undefined ? shareScope(session, scope) : shareScopeAndGate(session, scope, gate),
    statement<RecordRow>(lockKeys, ...place, ...columnsOf(guarded)),
    statement<KeyRow>(selectKeys, ...place, ...columnsOf(keys), arrayOf(keys.map(({ view }) => view))),
  );
  const found = recordRows(read);
  const free = new Set(keys.filter((asked) => !asked.guarded).map(({ key }) => nameOf(key)));
  const held = new Set(locked.map(nameOf));
  if (found.some((row) => !held.has(nameOf(row)) && !free.has(nameOf(row)))) throw new LostRace();
  return { live: read[0]?.live, rows: new Map(found.map((row) => [nameOf(row), row])) };
}

function columnsOf(keys: readonly AskedKey[]): [string, string] {
  return [arrayOf(keys.map(({ key }) => key.collection)), arrayOf(keys.map(({ key }) => key.id))];
}

function planOf(
  writes: readonly Write[],
  keys: readonly AskedKey[],
  rows: ReadonlyMap<string, RecordRow>,
): Plan {
  const creates: RecordData[] = [];
  const updates: { row: RecordRow; record: RecordData }[] = [];
  const removes: RecordRow[] = [];
  const absent = new Map(keys.filter(({ guarded }) => guarded).map(({ key }) => [nameOf(key), key]));
  for (const name of rows.keys()) absent.delete(name);
  for (const write of writes) {
    const name = nameOf('put' in write ? write.put.key : write.remove);
    const row = rows.get(name);
    if ('remove' in write) {
      if (row !== undefined) removes.push(row);
    } else if (row === undefined) {
      creates.push(write.put);
      absent.delete(name);
    } else {
      updates.push({ row, record: write.put });
    }
  }
  return { ...nothing, creates, updates, removes, absent: [...absent.values()] };
}
