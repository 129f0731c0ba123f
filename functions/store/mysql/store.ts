import type { TurnRoom } from '../../kernel/turn-room.ts';
import type { Clock, RandomSource, Timers } from '../../kernel/world.ts';
import { delay } from '../../kernel/world.ts';
import { ScopeLanes } from '../lanes.ts';
import { lookedForEach } from '../list-plan.ts';
import { LookMemory } from '../look-memory.ts';
import { NearestSearch } from '../nearest/nearest-search.ts';
import type {
  ClaimDecision,
  ClaimRequest,
  Collection,
  Decision,
  DueRequest,
  KeysSelection,
  ListSelection,
  LoadedRecords,
  Moment,
  PartPage,
  PartsSelection,
  RecordData,
  RecordPage,
  RecordStore,
  ScanPage,
  ScanRequest,
  Scope,
  TransactRequest,
} from '../port.ts';
import { Rivalry } from '../rivalry.ts';
import { addressOf } from './address.ts';
import { claimIn } from './claim.ts';
import { Connection } from './connection.ts';
import { readDue } from './due.ts';
import { closedError, isLostRace } from './errors.ts';
import { readAtOnce, type Searching } from './moment.ts';
import { Pool } from './pool.ts';
import { readPage } from './query.ts';
import { nameOf } from './rows.ts';
import { scanRecords } from './scan.ts';
import { migrate } from './schema.ts';
import { SearchTables } from './search-schema.ts';
import { Snapshot } from './snapshot.ts';
import { createScope } from './space.ts';
import { swapRecords, sweepSpaces } from './swap.ts';
import { mustLock, transactIn, transactUnlocked } from './transact.ts';

export interface MysqlStoreOptions {
  /** `mysql://user:password@host:port/database`; `addressOf` documents its options for sockets and TLS. */
  readonly connectionString: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** The room in which long searches take turns with other long work; without it each search takes turns alone. */
  readonly turns?: TurnRoom;
  /** The prefix of all table names: letters, digits and `_`. Stores with different prefixes share nothing. */
  readonly tablePrefix?: string;
  /** Whether missing tables are created (default), or every call is refused with `NoStoreError`. */
  readonly create?: boolean;
  /** Connections of this instance at most, beside those of scans, of which there are `scansMax`. */
  readonly poolSize?: number;
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. */
  readonly queryTimeoutMs?: number;
  /** How long one attempt waits for the locks of others. */
  readonly lockTimeoutMs?: number;
  /** Memory for the vectors of searches, in bytes. */
  readonly vectorBytesMax?: number;
}

const defaults = {
  tablePrefix: 'svc_',
  create: true,
  poolSize: 10,
  connectTimeoutMs: 5_000,
  queryTimeoutMs: 15_000,
  lockTimeoutMs: 5_000,
  vectorBytesMax: 512 * 1024 * 1024,
} as const;

const attemptsMax = 4;
const retryDelayMs = 20;

/** Each scan holds a connection and a snapshot until it is read to its end or abandoned. */
const scansMax = 4;
/** The server ends a session that is silent for longer, and rolls back: no hung process holds a tenant's lock. */
const silenceMaxMs = 60_000;
const scanSilenceMaxMs = 600_000;

/** For MySQL 8 and MariaDB 10.6 or newer. Nothing is contacted before the first call, which also makes the tables, if it may. */
export function openMysqlStore(options: MysqlStoreOptions): RecordStore {
  return new MysqlStore(options);
}

class MysqlStore implements RecordStore {
  readonly provider = 'mysql';
  readonly #options: MysqlStoreOptions & typeof defaults;
  readonly #timers: Timers;
  readonly #pool: Pool;
  readonly #scans: Pool;
  readonly #lanes: ScopeLanes;
  readonly #search: Searching;
  readonly #rivalry: Rivalry;
  readonly #underWay = new Set<Promise<unknown>>();
  #ready: Promise<void> | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: MysqlStoreOptions) {
    this.#options = { ...defaults, ...options } as MysqlStoreOptions & typeof defaults;
    const {
      connectionString,
      tablePrefix,
      poolSize,
      connectTimeoutMs,
      queryTimeoutMs,
      lockTimeoutMs,
      clock,
    } = this.#options;
    if (!/^\w{0,32}$/.test(tablePrefix)) throw new Error('a table prefix is of letters, digits and _');
    this.#timers = options.timers;
    const address = addressOf(connectionString);
    // Longer than a broken connection takes to fail, so that callers get that error and not a timeout of the pool.
    const waitMaxMs = queryTimeoutMs + 2 * connectTimeoutMs;
    const { vectorBytesMax: bytesMax, turns } = this.#options;
    const nearest = new NearestSearch({ bytesMax, clock, turns });
    const looks = new LookMemory({ first: lookedForEach, wide: lookedForEach });
    this.#rivalry = new Rivalry(clock);
    this.#search = { tables: new SearchTables(), nearest, looks };
    const pool = (size: number, silence: number) =>
      new Pool({
        open: () =>
          Connection.open({
            address,
            tablePrefix,
            connectTimeoutMs,
            queryTimeoutMs,
            lockTimeoutMs,
            silenceMaxMs: silence,
          }),
        clock,
        timers: this.#timers,
        size,
        waitMaxMs,
      });
    this.#pool = pool(poolSize, silenceMaxMs);
    this.#scans = pool(scansMax, scanSilenceMaxMs);
    this.#lanes = new ScopeLanes({ width: Math.ceil(poolSize / 2), timers: this.#timers, waitMaxMs });
  }

  transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    const names = request.keys
      .filter(({ unguarded }) => unguarded !== true)
      .map(({ key }) => `${scope.kind}/${scope.name}/${nameOf(key)}`);
    let locks = mustLock(scope, request) || this.#rivalry.isContended(names);
    return this.#changing(scope, async (connection) => {
      if (!locks) {
        // Another try locks.
        locks = true;
        const early = await transactUnlocked(connection, this.#search.tables, scope, request, decide);
        if (early === 'lost') for (const name of names) this.#rivalry.lost(name);
        else if (early !== undefined && early !== 'large') return early.result;
      }
      const outcome = await transactIn(connection, this.#search.tables, scope, request, decide);
      if (outcome !== undefined) return outcome.result;
      await createScope(connection, scope, this.#options.clock.now());
      const again = await transactIn(connection, this.#search.tables, scope, request, decide);
      if (again === undefined) throw new Error('the row of a scope is never removed');
      return again.result;
    });
  }

  query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    return this.#work((connection) =>
      readPage(new Snapshot(connection), this.#search.looks, scope, selection),
    );
  }

  snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    return this.#work((connection) => readAtOnce(this.#search, connection, scope, read));
  }

  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    return this.#changing(scope, (connection) =>
      claimIn(connection, this.#search.tables, scope, collection, request, decide),
    );
  }

  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage> {
    return this.#work((connection) => readDue(connection, scope, collection, request));
  }

  scan(scope: Scope, request: ScanRequest): AsyncIterable<ScanPage> {
    const open = async (): Promise<Pool> => {
      if (this.#closing !== undefined) throw closedError();
      await this.#prepared();
      return this.#scans;
    };
    return scanRecords(open, scope, request);
  }

  async swap(
    scope: Scope,
    records: AsyncIterable<RecordData>,
    verify: () => void | Promise<void>,
  ): Promise<void> {
    const parts = { clock: this.#options.clock, search: this.#search.tables };
    try {
      await swapRecords(this.#run, parts, scope, records, verify, (flip) => this.#changing(scope, flip));
    } finally {
      this.#sweepBehind();
    }
  }

  /** One sweep at a time; it ends when the store closes. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => sweepSpaces(this.#run, this.#options.clock, this.#search.tables));
    this.#sweeping = swept.catch(() => undefined);
    return swept;
  }

  ping(): Promise<void> {
    return this.#work((connection) => connection.ping());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await Promise.all([this.#pool.close(), this.#scans.close()]);
  }

  /** One change of a scope after the other, as far as its lanes are wide. */
  #changing<R>(scope: Scope, work: (connection: Connection) => Promise<R>): Promise<R> {
    return this.#track(() => this.#lanes.run(`${scope.kind}/${scope.name}`, () => this.#attempts(work)));
  }

  readonly #run = <R>(work: (connection: Connection) => Promise<R>): Promise<R> =>
    this.#track(() => this.#attempts(work));

  #work<R>(work: (connection: Connection) => Promise<R>): Promise<R> {
    return this.#track(() => this.#pool.run(work));
  }

  /**
   * A lost race wrote nothing and is tried again from the start; after another failure the write may have been made, so it
   * is not tried again.
   */
  async #attempts<R>(work: (connection: Connection) => Promise<R>): Promise<R> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#pool.run(work);
      } catch (error) {
        if (!isLostRace(error) || tries === attemptsMax) throw error;
      }
      const [chance = 0] = this.#options.random.bytes(1);
      await delay(this.#timers, (retryDelayMs * tries * (chance + 1)) / 256);
    }
  }

  /** A call is under way from the moment it is made; once the store is closing there are no new ones. */
  #track<R>(work: () => Promise<R>): Promise<R> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const running = this.#prepared()
      .then(work)
      .finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
    return running;
  }

  /**
   * Resolves when the tables exist. Concurrent first calls share one migration; after a failure the next call tries
   * again.
   */
  #prepared(): Promise<void> {
    this.#ready ??= this.#pool
      .run(async (connection) => {
        await migrate(connection, this.#options);
        await this.#search.tables.prepare(connection, this.#options.tablePrefix);
      })
      .then(
        () => this.#sweepBehind(),
        (error: unknown) => {
          this.#ready = undefined;
          throw error;
        },
      );
    return this.#ready;
  }

  /** The next swap or the next opening repeats a failed sweep. */
  #sweepBehind(): void {
    this.sweep().catch(() => undefined);
  }
}
