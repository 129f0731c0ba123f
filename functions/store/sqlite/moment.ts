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
import type { WordCountsReader } from '../search.ts';
import type { Connection } from './connection.ts';
import { asStoreError } from './errors.ts';
import { finder, wordCounter } from './find.ts';
import { countPage } from './list.ts';
import { readPage } from './query.ts';
import type { Read } from './search-vectors.ts';
import { liveSpace } from './space.ts';

type Selection = KeysSelection | ListSelection | PartsSelection;

/** Another call wrote between two reads, so that they cannot be of one moment. */
export class MomentPassed extends Error {
  override readonly name = 'MomentPassed';
}

/** Reads without a lock on the shared connection, and ends when the database changed since its first read. */
export class UnlockedMoment implements Moment {
  readonly #scope: Scope;
  readonly #read: Read;
  readonly find: Find;
  readonly wordCounts: WordCountsReader;
  readonly count: Count = (selection) =>
    this.#unchanged((connection) => countPage(connection, this.#scope, selection));
  #version: string | undefined;

  constructor(scope: Scope, nearest: NearestSearch, read: Read) {
    this.#scope = scope;
    this.#read = read;
    this.find = finder(nearest, scope, (work) => this.#unchanged(work));
    this.wordCounts = wordCounter(nearest, scope, (work) => this.#unchanged(work));
  }

  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;
  query(selection: Selection): Promise<RecordPage | PartPage> {
    return this.#unchanged((connection) => readPage(connection, this.#scope, selection));
  }

  generation(): Promise<string> {
    return this.#unchanged((connection) => generationOf(connection, this.#scope));
  }

  #unchanged<R>(work: (connection: Connection) => R): Promise<R> {
    return this.#read((connection) => {
      const version = versionOf(connection);
      this.#version ??= version;
      if (version !== this.#version) throw new MomentPassed();
      return work(connection);
    });
  }
}

/** Reads in one transaction, on a connection that nothing is written through. */
export async function readLocked<R>(
  open: () => Promise<Connection>,
  { scope, nearest }: { readonly scope: Scope; readonly nearest: NearestSearch },
  read: (moment: Moment) => Promise<R>,
): Promise<R> {
  const connection = await open();
  const query = async (selection: Selection) => readPage(connection, scope, selection);
  const find = finder(nearest, scope, async (work) => work(connection));
  const wordCounts = wordCounter(nearest, scope, async (work) => work(connection));
  const count: Count = async (selection) => countPage(connection, scope, selection);
  const generation = async () => generationOf(connection, scope);
  try {
    connection.run('BEGIN');
    return await read({ query: query as Moment['query'], find, wordCounts, count, generation });
  } catch (error) {
    throw asStoreError(error);
  } finally {
    connection.close();
  }
}

/** Changes with every commit: of another connection (the first number), or of this one (the second). */
function versionOf(connection: Connection): string {
  const other = connection.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
  const own = connection.get<{ changes: number }>('SELECT total_changes() AS changes')?.changes;
  return `${other} ${own}`;
}

/** Spaces are numbered upwards, and the number of a live one is above those before it. */
function generationOf(connection: Connection, scope: Scope): string {
  return `${liveSpace(connection, scope) ?? ''}`;
}
