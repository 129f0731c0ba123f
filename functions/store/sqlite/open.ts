import type { TurnRoom } from '../../kernel/turn-room.ts';
import type { Clock, RandomSource, Timers } from '../../kernel/world.ts';
import { groupedNames } from '../grouping.ts';
import { type Collection, StoreError } from '../port.ts';
import { Connection } from './connection.ts';
import { makePrivateFile, restrictDatabase } from './private-files.ts';
import { connectToRead } from './read-only.ts';
import { DiskRoom } from './room.ts';
import { migrate, requireVersion } from './schema.ts';
import { migrateSearches } from './search-schema.ts';
import { checkWholePages } from './whole-pages.ts';

export interface SqliteStoreOptions {
  /** The database file; its folder is made. SQLite keeps two files beside it while it is open. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** The room in which long searches take turns with other long work; without it each search takes turns alone. */
  readonly turns?: TurnRoom;
  /** Whether waiting calls share a flush to disk (default), or each has a database transaction to itself. */
  readonly grouping?: boolean;
  /**
   * The collections as their owners declare them: without this member the store treats every collection as paired. A
   * change of a declaration needs a swap if the collection has records.
   */
  readonly collections?: readonly Collection[];
  /** Pages in the write-ahead log before they are copied into the database file. */
  readonly checkpointPages?: number;
  /** Memory for the vectors of searches, in bytes. */
  readonly vectorBytesMax?: number;
  /** Opens the database so that no byte of it changes, also of the files beside it: it must exist in the form of this release. */
  readonly readOnly?: boolean;
}

/** Opening may wait on the spot; later, waiting would stop the event loop, so it is done between tries. */
export const openBusyMs = 100;
const busySliceMs = 10;

/** Larger logs flush rarer, but each copy by the writer stops the loop longer: about 2 ms for every 1,000 pages. */
const checkpointPagesDefault = 4000;
/** A log that grew larger, because a reader held it, is cut down to four times the size at which it is copied. */
const logBytesPerPage = 4 * 4096;

/** The connection of a store that changes no byte. */
export function openReader(options: SqliteStoreOptions): Connection {
  checkWholePages(options.path);
  const reader = connectToRead(options.path, openBusyMs);
  declareCollections(reader, options);
  try {
    requireVersion(reader);
    reader.exec(`PRAGMA busy_timeout = ${busySliceMs}; ${readingPragmas}`);
    return reader;
  } catch (error) {
    reader.close();
    throw error;
  }
}

function declareCollections(connection: Connection, options: SqliteStoreOptions): void {
  const unpaired = new Set(options.collections?.filter((c) => !c.pairedIndexes).map(({ name }) => name));
  connection.paired = (collection) => !unpaired.has(collection);
  const grouped = groupedNames(options.collections);
  connection.grouped = (collection) => grouped.has(collection);
}

export function openWriter(options: SqliteStoreOptions): Connection {
  makePrivateFile(options.path);
  restrictDatabase(options.path);
  checkWholePages(options.path);
  const writer = new Connection(options.path, { readOnly: false, busyTimeoutMs: openBusyMs });
  declareCollections(writer, options);
  try {
    prepareWriter(writer, logPages(options));
    migrate(writer);
    migrateSearches(writer);
    writer.exec(`PRAGMA busy_timeout = ${busySliceMs}`);
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** Pages in the log at which they are copied into the database file. */
export function logPages({ path, checkpointPages = checkpointPagesDefault }: SqliteStoreOptions): number {
  return new DiskRoom(path).logPages(checkpointPages);
}

function prepareWriter(writer: Connection, checkpointPages: number): void {
  const mode = writer.get<{ journal_mode: string }>('PRAGMA journal_mode = WAL')?.journal_mode;
  if (mode !== 'wal') {
    throw new StoreError('unavailable', 'the file system of the database does not carry a write-ahead log');
  }
  // FULL flushes the log before a commit is answered; NORMAL could lose answered commits when the power fails. Mapped
  // memory costs only address space, and spares a random read of a large file its system call.
  writer.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${checkpointPages};
    PRAGMA journal_size_limit = ${checkpointPages * logBytesPerPage};
    ${readingPragmas}
  `);
}

const readingPragmas =
  'PRAGMA cache_size = -16384; PRAGMA mmap_size = 2147418112; PRAGMA temp_store = MEMORY;';
