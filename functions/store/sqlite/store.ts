import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { delay, type Timers } from '../../kernel/world.ts';
import { NearestSearch } from '../nearest/nearest-search.ts';
import {
  type ClaimDecision,
  type ClaimRequest,
  type Collection,
  type Decision,
  type DueRequest,
  type KeysSelection,
  type ListSelection,
  type LoadedRecords,
  type Moment,
  type PartPage,
  type PartsSelection,
  type RecordData,
  type RecordPage,
  type RecordStore,
  type ScanPage,
  type ScanRequest,
  type Scope,
  StoreError,
  type TransactRequest,
} from '../port.ts';
import { claimIn } from './claim.ts';
import { Connection } from './connection.ts';
import { readDue } from './due.ts';
import { asOpenError, asStoreError, closedError, isBusy } from './errors.ts';
import { LogCopies } from './log-copies.ts';
import { MomentPassed, readLocked, UnlockedMoment } from './moment.ts';
import { logPages, openBusyMs, openReader, openWriter, type SqliteStoreOptions } from './open.ts';
import { folderFault, makePrivateFolder } from './private-files.ts';
import { onlyKeyOf, readOne, readPage } from './query.ts';
import { connectToRead } from './read-only.ts';
import { DiskRoom } from './room.ts';
import { scanRecords } from './scan.ts';
import { swapRecords, sweepSpaces } from './swap.ts';
import { transactIn } from './transact.ts';
import { WriteQueue } from './write-queue.ts';

export type { SqliteStoreOptions };

const vectorBytesDefault = 512 * 1024 * 1024;

const openTriesMax = 80;
const busyDelayMs = 20;
const busyReadsMax = 160;

export async function openSqliteStore(options: SqliteStoreOptions): Promise<RecordStore> {
  const { timers, readOnly = false } = options;
  if (!readOnly)
    await makePrivateFolder(dirname(options.path)).catch((cause: unknown) => {
      const message = `the folder of the database could not be made: ${folderFault(cause)}`;
      throw new StoreError('unavailable', message, { cause });
    });
  // Two processes that open a new file at once meet in the change to the write-ahead log, where SQLite does not wait.
  for (let tries = 1; ; tries += 1) {
    try {
      return new SqliteStore(options, timers, readOnly ? openReader(options) : openWriter(options));
    } catch (error) {
      if (!isBusy(error)) throw asOpenError(error);
      if (tries === openTriesMax)
        throw new StoreError('unavailable', 'another process holds it', { cause: error });
    }
    await delay(timers, busyDelayMs);
  }
}

class SqliteStore implements RecordStore {
  readonly provider = 'sqlite';
  readonly #options: SqliteStoreOptions;
  readonly #timers: Timers;
  readonly #writer: Connection;
  readonly #copies: LogCopies;
  readonly #queue: WriteQueue;
  readonly #room: DiskRoom;
  readonly #nearest: NearestSearch;
  readonly #scans = new Set<Connection>();
  #sweeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: SqliteStoreOptions, timers: Timers, writer: Connection) {
    this.#options = options;
    this.#timers = timers;
    this.#writer = writer;
    const { random, grouping = true } = options;
    this.#copies = new LogCopies(options.path, logPages(options));
    this.#queue = new WriteQueue({
      connection: writer,
      timers,
      random,
      grouping,
      copies: this.#copies,
    });
    this.#room = new DiskRoom(options.path);
    this.#nearest = new NearestSearch({
      bytesMax: options.vectorBytesMax ?? vectorBytesDefault,
      clock: options.clock,
      turns: options.turns,
    });
    if (options.readOnly !== true) this.#sweepBehind();
  }

  async transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    const { clock } = this.#options;
    let hasRoom = false;
    const result = await this.#queue.run((connection) => {
      const now = clock.now();
      return transactIn(connection, now, scope, request, decide, () => {
        hasRoom = this.#room.checkWrite(connection, now);
      });
    });
    if (hasRoom) this.#queue.ranFull = false;
    return result;
  }

  query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    const only = onlyKeyOf(selection);
    if (only !== undefined) return this.#tried((connection) => readOne(connection, scope, only));
    return this.#read((connection) => readPage(connection, scope, selection));
  }

  /** Most calls read once, or nothing is written between their reads; the others read again on a connection of their own. */
  async snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    try {
      return await read(new UnlockedMoment(scope, this.#nearest, (work) => this.#read(work)));
    } catch (error) {
      if (!(error instanceof MomentPassed)) throw error;
    }
    return readLocked(this.#openScan, { scope, nearest: this.#nearest }, read);
  }

  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    return this.#queue.run((connection) => claimIn(connection, scope, collection, request, decide));
  }

  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage> {
    return this.#read((connection) => readDue(connection, scope, collection, request));
  }

  scan(scope: Scope, request: ScanRequest): AsyncIterable<ScanPage> {
    return scanRecords(this.#openScan, scope, request);
  }

  async swap(
    scope: Scope,
    records: AsyncIterable<RecordData>,
    verify: () => void | Promise<void>,
  ): Promise<void> {
    try {
      const parts = { queue: this.#queue, clock: this.#options.clock, room: this.#room };
      await swapRecords(parts, scope, records, verify);
    } finally {
      this.#sweepBehind();
    }
  }

  /** One sweep at a time. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => sweepSpaces(this.#queue, this.#options.clock));
    this.#sweeping = swept.catch(() => undefined);
    return swept;
  }

  async ping(): Promise<void> {
    const short = await this.#read((connection) => {
      connection.get('SELECT space FROM scopes LIMIT 1');
      return this.#queue.ranFull && this.#room.isShort(connection);
    });
    // An earlier failure for lack of room is out of date once the disk has room again.
    this.#queue.ranFull = short;
    if (short) throw new StoreError('full', 'the disk of the database has no room for new data');
  }

  /** Every write goes through the log, whose size or time it changes. */
  changeMark(): string {
    const log = statSync(`${this.#options.path}-wal`, { bigint: true, throwIfNoEntry: false });
    return log === undefined ? 'none' : `${log.size}:${log.mtimeNs}`;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.close();
    await this.#copies.close();
    await this.#sweeping;
    for (const scan of this.#scans) scan.close();
    try {
      if (this.#options.readOnly !== true) this.#writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process reads the log; the last process to close copies it. No data is lost in between.
    }
    this.#writer.close();
  }

  /**
   * On the writer's own connection: a transaction there never spans a turn of the event loop, so a read sees committed
   * data only, and finds the pages just written in the cache, which a second connection would have to read again.
   */
  #read<R>(read: (connection: Connection) => R): Promise<R> {
    return this.#tried((connection) => connection.snapshot(() => read(connection)));
  }

  async #tried<R>(read: (connection: Connection) => R): Promise<R> {
    for (let tries = 1; ; tries += 1) {
      if (this.#closing !== undefined) throw closedError();
      try {
        return read(this.#writer);
      } catch (error) {
        if (!isBusy(error) || tries === busyReadsMax) throw asStoreError(error);
      }
      await delay(this.#timers, busyDelayMs);
    }
  }

  readonly #openScan = async (): Promise<Connection> => {
    if (this.#closing !== undefined) throw closedError();
    const { path, readOnly } = this.#options;
    const scan =
      readOnly === true
        ? connectToRead(path, openBusyMs)
        : new Connection(path, { readOnly: true, busyTimeoutMs: openBusyMs });
    scan.paired = this.#writer.paired;
    scan.grouped = this.#writer.grouped;
    this.#scans.add(scan);
    scan.onClose = () => this.#scans.delete(scan);
    return scan;
  };

  /** The next swap or the next opening repeats a failed sweep. */
  #sweepBehind(): void {
    this.sweep().catch(() => undefined);
  }
}
