import type {
  KeysSelection,
  ListSelection,
  Moment,
  PartPage,
  PartsSelection,
  RecordPage,
  Scope,
} from '../port.ts';
import type { Connection } from './connection.ts';
import { readPage } from './query.ts';
import { Snapshot } from './snapshot.ts';
import { statement } from './statement.ts';

export async function readAtOnce<R>(
  connection: Connection,
  scope: Scope,
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  const snapshot = new Snapshot(connection, true);
  const result = await read(new SnapshotMoment(snapshot, scope));
  snapshot.end();
  return result;
}

class SnapshotMoment implements Moment {
  readonly #snapshot: Snapshot;
  readonly #scope: Scope;

  constructor(snapshot: Snapshot, scope: Scope) {
    this.#snapshot = snapshot;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: KeysSelection | ListSelection | PartsSelection): Promise<RecordPage | PartPage> {
    return readPage(this.#snapshot, this.#scope, selection);
  }

  async generation(): Promise<string> {
    const { kind, name } = this.#scope;
    const text = 'SELECT space FROM {scopes} WHERE kind = ? AND name = ?';
    const [{ rows }] = await this.#snapshot.send(statement<{ space: number }>(text, kind, name));
    return `${rows[0]?.space ?? ''}`;
  }
}
