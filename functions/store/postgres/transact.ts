import type { Decision, LoadedRecords, RecordData, Scope, TransactRequest, Write } from '../port.ts';
import { checkWrites } from '../requested.ts';
import type { Connection } from './connection.ts';
import { StatementError } from './errors.ts';
import { isRefused } from './kept.ts';
import { nothing, type Plan } from './plan.ts';
import {
  type AskedKey,
  askedKeys,
  type KeyRow,
  nameOf,
  type RecordRow,
  recordOf,
  recordRows,
  selectRequested,
  widestView,
} from './rows.ts';
import { LostRace, persistently, type Session } from './session.ts';
import { ensureSpace, shareScope, shareScopeAndGate } from './space.ts';
import { BEGIN, type Column, rowsStatement } from './statement.ts';
import { writesIfKept, writesOf } from './write.ts';

/**
 * Two round trips. The first try reads without locks and decides; its second trip takes the lock of the scope, and then locks
 * what was read, compares it, and writes or does not. After a lost race, or where one is likely, the first trip locks and reads,
 * and the second writes.
 *
 * Why it is strictly serializable at READ COMMITTED: before writes are committed, every existing record is locked in one order
 * of keys, and is as it was read: it was locked before the read, or is compared by its values under its lock. Each absent key
 * is created, for good or to be removed at once: where a rival was first, the unique index refuses it. So at the commit all is
 * as the decision saw it. A read is one snapshot: a decision without writes, or a refusal, is true of its moment. After a
 * wait for locks, a record that came meanwhile is not among those locked, and the try begins again. An unguarded key is read
 * in the same snapshot and is neither locked nor created.
 */
export async function transact<R>(
  session: Session,
  scope: Scope,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
): Promise<R> {
  const keys = askedKeys(request.keys);
  const names = rivalNames(scope, request, keys);
  const call: Call<R> = { session, scope, request, keys, decide, names };
  const gate = request.gate === undefined ? undefined : names.get(nameOf(request.gate));
  return session.rivalry.behind(gate, (isLate) =>
    perform(call, mustLock(keys) || isLate || session.rivalry.isContended(names.values())),
  );
}

async function perform<R>(call: Call<R>, isContended: boolean): Promise<R> {
  const { session, scope } = call;
  let before: Reading | undefined;
  let locks = isContended;
  for (;;) {
    const outcome = await persistently(session, async (connection) => {
      if (locks) return attempt(call, connection, await readLocked(call, connection, before));
      locks = true;
      before = await read(call, connection);
      return attempt(call, connection, before);
    });
    if (outcome === 'locked') continue;
    if (outcome !== 'no space') return outcome.result;
    await persistently(session, (connection) => ensureSpace(session, connection, scope));
  }
}

interface Call<R> {
  readonly session: Session;
  readonly scope: Scope;
  readonly request: TransactRequest;
  readonly keys: readonly AskedKey[];
  readonly decide: (found: LoadedRecords) => Decision<R>;
  /** By the name of a guarded key, what it is called among those of all scopes. */
  readonly names: ReadonlyMap<string, string>;
}

interface Reading {
  readonly locked: boolean;
  readonly live: string | undefined;
  readonly rows: ReadonlyMap<string, RecordRow>;
}

/** Parts are not compared. */
function mustLock(keys: readonly AskedKey[]): boolean {
  return keys.some(({ view, guarded }) => guarded && view === 'parts');
}

function rivalNames(scope: Scope, { gate }: TransactRequest, keys: readonly AskedKey[]): Map<string, string> {
  const guarded = keys.filter((asked) => asked.guarded).map(({ key }) => key);
  const names = [...guarded, ...(gate === undefined ? [] : [gate])].map(nameOf);
  return new Map(names.map((name) => [name, `${scope.kind}/${scope.name}/${name}`]));
}

/** `locked`: the call starts again with locks. */
type Outcome<R> = { readonly result: R } | 'no space' | 'locked';

async function attempt<R>(call: Call<R>, connection: Connection, reading: Reading): Promise<Outcome<R>> {
  const { session, scope, request, keys } = call;
  const { locked, live, rows } = reading;
  let decision: Decision<R>;
  try {
    decision = call.decide(foundIn(reading, keys));
    checkWrites(decision.writes, request.keys);
  } catch (error) {
    if (locked) connection.leave();
    throw error;
  }
  const { writes, result } = decision;
  if (writes.length === 0 || live === undefined) {
    if (locked) connection.leave();
    return writes.length === 0 ? { result } : 'no space';
  }
  const planned = planOf(writes, keys, rows);
  const plan = { ...planned, searched: await session.search.change(connection, scope, planned) };
  if (locked) {
    await connection.commit(...writesOf(live, plan, session));
    return { result };
  }
  return (await writeIfKept(call, connection, reading, live, plan)) ? { result } : 'locked';
}

function foundIn({ rows }: Reading, keys: readonly AskedKey[]): LoadedRecords {
  const records = new Map<string, RecordData>();
  for (const { key, view } of keys) {
    const row = rows.get(nameOf(key));
    if (row !== undefined) records.set(nameOf(key), recordOf(row, view));
  }
  return { get: (key) => records.get(nameOf(key)) };
}

/** False where a rival was first, and nothing was written. */
async function writeIfKept<R>(
  { session, scope, request, keys }: Call<R>,
  connection: Connection,
  { rows }: Reading,
  space: string,
  plan: Plan,
): Promise<boolean> {
  const guarded = keys.flatMap(({ key, view, guarded: isGuarded }) => {
    const row = isGuarded ? rows.get(nameOf(key)) : undefined;
    return row === undefined ? [] : [{ row, view }];
  });
  const gate = plan.creates.find(
    ({ key }) => request.gate !== undefined && nameOf(key) === nameOf(request.gate),
  );
  const writes = writesIfKept(space, plan, session, { scope, space, rows: guarded, gate: gate?.key });
  try {
    return await connection.commitIfKept(shareScopeOf(session, scope, request), writes);
  } catch (error) {
    throw error instanceof StatementError && isRefused(error.sqlState) ? new LostRace() : error;
  }
}

/** Locks the records of a call that locks before it reads. */
const lockKeys = `
  SELECT r.collection, r.id FROM (SELECT {0} AS collection, {1} AS id) AS k
  CROSS JOIN LATERAL (
    SELECT r.collection, r.id FROM records AS r
    WHERE r.space = (SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2)
      AND r.collection = k.collection AND r.id = k.id
    FOR UPDATE OF r
  ) AS r`;

/** One snapshot, in a transaction of its own. */
async function read<R>({ scope, keys }: Call<R>, connection: Connection): Promise<Reading> {
  const [found] = await connection.send(readKeys(scope, keys));
  return { locked: false, live: found[0]?.live, rows: rowsByName(found) };
}

/** Each in a statement of its own: a statement that has waited for a lock still sees the state before its wait. */
async function readLocked<R>(
  { session, scope, request, keys, names }: Call<R>,
  connection: Connection,
  before: Reading | undefined,
): Promise<Reading> {
  const guarded = keys.filter((asked) => asked.guarded);
  const [, , locked, found] = await connection.send(
    BEGIN,
    shareScopeOf(session, scope, request),
    rowsStatement<RecordRow>(lockKeys, [scope.kind, scope.name], columnsOf(guarded)),
    readKeys(scope, keys),
  );
  const rows = rowsByName(found);
  // Where the head has changed since the try without locks, rivals are at the record.
  for (const [name, everywhere] of before === undefined ? [] : names) {
    if (before?.rows.get(name)?.head !== rows.get(name)?.head) session.rivalry.lost(everywhere);
  }
  const held = new Set(locked.map(nameOf));
  if (guarded.some(({ key }) => rows.has(nameOf(key)) && !held.has(nameOf(key)))) throw new LostRace();
  return { locked: true, live: found[0]?.live, rows };
}

function shareScopeOf(session: Session, scope: Scope, { gate }: TransactRequest) {
  return gate === undefined ? shareScope(session, scope) : shareScopeAndGate(session, scope, gate);
}

function readKeys({ kind, name }: Scope, keys: readonly AskedKey[]) {
  return rowsStatement<KeyRow>(
    selectRequested[widestView(keys)],
    [kind, name],
    [...columnsOf(keys), ['text', keys.map(({ view }) => view)]],
  );
}

function rowsByName(found: readonly KeyRow[]): Map<string, RecordRow> {
  return new Map(recordRows(found).map((row) => [nameOf(row), row]));
}

function columnsOf(keys: readonly AskedKey[]): [Column, Column] {
  return [
    ['text', keys.map(({ key }) => key.collection)],
    ['text', keys.map(({ key }) => key.id)],
  ];
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
