import type { LookMemory } from '../look-memory.ts';
import type { NearestSearch } from '../nearest/nearest-search.ts';
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
import type { Connection } from './connection.ts';
import { countPage, readPage } from './query.ts';
import type { SearchTables } from './search-schema.ts';
import { findCounts, findEntries } from './search-terms.ts';
import { SlotRows } from './search-vectors.ts';
import { Snapshot } from './snapshot.ts';
import { statement } from './statement.ts';

/** Dependencies of finds and lists beside the connection. */
export interface Searching {
  readonly tables: SearchTables;
  readonly nearest: NearestSearch;
  readonly looks: LookMemory;
}

export async function readAtOnce<R>(
  searching: Searching,
  connection: Connection,
  scope: Scope,
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  const snapshot = new Snapshot(connection, true);
  const result = await read(new SnapshotMoment(searching, snapshot, scope));
  snapshot.end();
  return result;
}

class SnapshotMoment implements Moment {
  readonly #searching: Searching;
  readonly #snapshot: Snapshot;
  readonly #scope: Scope;

  constructor(searching: Searching, snapshot: Snapshot, scope: Scope) {
    this.#searching = searching;
    this.#snapshot = snapshot;
    this.#scope = scope;
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: KeysSelection | ListSelection | PartsSelection): Promise<RecordPage | PartPage> {
    return readPage(this.#snapshot, this.#searching.looks, this.#scope, selection);
  }

  readonly count: Count = (selection) => countPage(this.#snapshot, this.#scope, selection);

  readonly find: Find = ((request: FindRequest) => this.#find(request)) as Find;

  async #find(request: FindRequest): Promise<FindPage> {
    const { tables, nearest } = this.#searching;
    await tables.mustExist(this.#snapshot);
    if (request.by === 'counts') return findCounts(this.#snapshot, this.#scope, request);
    if (request.by === 'term') return findEntries(this.#snapshot, this.#scope, request);
    return nearest.find(new SlotRows(this.#snapshot, this.#scope, request), request);
  }

  async generation(): Promise<string> {
    const { kind, name } = this.#scope;
    const text = 'SELECT space FROM {scopes} WHERE kind = ? AND name = ?';
    const [{ rows }] = await this.#snapshot.send(statement<{ space: number }>(text, kind, name));
    return `${rows[0]?.space ?? ''}`;
  }
}
