import type { Decision, Found, Scope, TransactRequest, Write } from '../port.ts';
import type { Connection } from './connection.ts';
import { readingOf } from './read.ts';
import { nameOf, type RecordRow } from './rows.ts';
import { lockScope } from './space.ts';
import { BEGIN } from './statement.ts';
import { writesOf } from './write.ts';

/** `undefined` when the scope must be created first, so that there is a row to lock. */
export interface Outcome<R> {
  readonly result: R;
}

/** Two round trips: lock and read, write and commit. The lock of the scope guards every key. */
export async function transactIn<R>(
  connection: Connection,
  scope: Scope,
  request: TransactRequest,
  decide: (found: Found) => Decision<R>,
): Promise<Outcome<R> | undefined> {
  const reading = readingOf(scope, request.keys);
  const [, locked, ...answers] = await connection.send(BEGIN, lockScope(scope), ...reading.statements);
  const found = reading.records(answers);
  const { writes, result } = decide({ get: (key) => found.get(nameOf(key))?.record });
  checkWrites(writes, new Set(request.keys.map(({ key }) => nameOf(key))));
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
  await connection.commit(...writesOf(space, writes, stored));
  return { result };
}

function checkWrites(writes: readonly Write[], requested: ReadonlySet<string>): void {
  const written = new Set<string>();
  for (const write of writes) {
    const name = nameOf('put' in write ? write.put.key : write.remove);
    if (!requested.has(name)) throw new Error(`a decision wrote ${name}, which was not requested`);
    if (written.has(name)) throw new Error(`a decision wrote ${name} twice`);
    written.add(name);
  }
}
