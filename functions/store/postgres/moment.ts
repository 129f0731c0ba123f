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
  const reader = new SnapshotReader(connection);
  const result = await read(new SnapshotMoment(reader, scope));
  reader.end();
  return result;
}

class SnapshotReader implements Reader {
  readonly #connection: Connection;
  #begun = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  send: Reader['send'] = async (...statements: readonly Statement[]) => {
    if (this.#begun) return this.#connection.send(...statements) as never;
    this.#begun = true;
    const [, ...rows] = await this.#connection.send(SNAPSHOT, ...statements);
    return rows as never;
  };

  end(): void {
    if (this.#begun) this.#connection.leave();
  }
}

class SnapshotMoment implements Moment {
  readonly #reader: Reader;
  readonly #scope: Scope;

  constructor(reader: Reader, scope: Scope) {
    this.#reader = reader;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: KeysSelection | ListSelection | PartsSelection): Promise<RecordPage | PartPage> {
    return readPage(this.#reader, this.#scope, selection);
  }

  async generation(): Promise<string> {
    const { kind, name } = this.#scope;
    const [[row]] = await this.#reader.send(statement<{ space: string }>(selectGeneration, kind, name));
    return row?.space ?? '';
  }
}
