import type {
  KeysSelection,
  ListSelection,
  Moment,
  PartPage,
  PartsSelection,
  RecordPage,
  Scope,
} from '../port.ts';
import { type Connection, type Reader, SNAPSHOT, type Statement, statement } from './connection.ts';
import { readPage } from './query.ts';

const selectGeneration = 'SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2';

/** Reads in one transaction, whose snapshot is one moment. It begins with the first read and ends without a wait. */
export async function readAtOnce<R>(
  connection: Connection,
  scope: Scope,
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  const reader = new SnapshotReader(connection, scope);
  const result = await read(new SnapshotMoment(reader, scope));
  reader.end();
  return result;
}

class SnapshotReader implements Reader {
  readonly #connection: Connection;
  readonly #scope: Scope;
  #begun = false;
  /** Read with the first statements, because it costs them no round trip. */
  generation = '';

  constructor(connection: Connection, scope: Scope) {
    this.#connection = connection;
    this.#scope = scope;
  }

  send: Reader['send'] = async (...statements: readonly Statement[]) => {
    if (this.#begun) return this.#connection.send(...statements) as never;
    this.#begun = true;
    const { kind, name } = this.#scope;
    const asked = statement<{ space: string }>(selectGeneration, kind, name);
    const [, [row], ...rows] = await this.#connection.send(SNAPSHOT, asked, ...statements);
    this.generation = row?.space ?? '';
    return rows as never;
  };

  async begin(): Promise<void> {
    if (!this.#begun) await this.send();
  }

  end(): void {
    if (this.#begun) this.#connection.leave();
  }
}

class SnapshotMoment implements Moment {
  readonly #reader: SnapshotReader;
  readonly #scope: Scope;

  constructor(reader: SnapshotReader, scope: Scope) {
    this.#reader = reader;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: KeysSelection | ListSelection | PartsSelection): Promise<RecordPage | PartPage> {
    return readPage(this.#reader, this.#scope, selection);
  }

  async generation(): Promise<string> {
    await this.#reader.begin();
    return this.#reader.generation;
  }
}
