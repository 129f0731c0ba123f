import type {
  Count,
  Find,
  KeysSelection,
  ListSelection,
  Moment,
  PartPage,
  PartsSelection,
  RecordPage,
  Scope,
} from '../port.ts';
import type { FindPage, FindRequest } from '../search.ts';
import { type Connection, type Reader } from './connection.ts';
import { countPage, readPage } from './query.ts';
import { findCounts, findEntries } from './search-terms.ts';
import { SlotRows } from './search-vectors.ts';
import type { Session } from './session.ts';
import { SNAPSHOT, type Statement, statement } from './statement.ts';

const selectGeneration = 'SELECT s.space FROM scopes AS s WHERE s.kind = $1 AND s.name = $2';

/** Reads one moment in one transaction, which begins with the first read and ends without a wait. */
export async function readAtOnce<R>(
  session: Session,
  connection: Connection,
  scope: Scope,
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  const reader = new SnapshotReader(connection, scope);
  const result = await read(new SnapshotMoment(session, reader, scope));
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
  readonly #session: Session;
  readonly #reader: SnapshotReader;
  readonly #scope: Scope;

  constructor(session: Session, reader: SnapshotReader, scope: Scope) {
    this.#session = session;
    this.#reader = reader;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: KeysSelection | ListSelection | PartsSelection): Promise<RecordPage | PartPage> {
    return readPage(this.#reader, this.#session.looks, this.#scope, selection);
  }

  readonly count: Count = (selection) => countPage(this.#reader, this.#scope, selection);

  readonly find: Find = ((request: FindRequest) => this.#find(request)) as Find;

  async #find(request: FindRequest): Promise<FindPage> {
    await this.#session.search.mustExist(this.#reader);
    if (request.by === 'counts') return findCounts(this.#reader, this.#scope, request);
    if (request.by === 'term') return findEntries(this.#reader, this.#scope, request);
    const { paired, grouped, nearest } = this.#session;
    const rules = { paired: paired(request.collection), grouped: grouped.has(request.collection) };
    return nearest.find(new SlotRows(this.#reader, this.#scope, request, rules), request);
  }

  async generation(): Promise<string> {
    await this.#reader.begin();
    return this.#reader.generation;
  }
}
