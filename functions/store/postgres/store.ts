import type { TurnRoom } from '../../kernel/turn-room.ts';
import type { Clock, RandomSource, Timers } from '../../kernel/world.ts';
import { groupedNames } from '../grouping.ts';
import { ScopeLanes } from '../lanes.ts';
import { LookMemory } from '../look-memory.ts';
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
import { Rivalry } from '../rivalry.ts';
import { claim } from './claim.ts';
import { Database, type DatabaseOptions, defaults } from './connection.ts';
import { driverUrl } from './connection-string.ts';
import { readDue } from './due.ts';
import { closedError } from './errors.ts';
import { Locks } from './locks.ts';
import { readAtOnce } from './moment.ts';
import { Notifications, notificationsConfig } from './notifications.ts';
import { lookWidths, readPage } from './query.ts';
import { scanRecords } from './scan.ts';
import { migrate } from './schema.ts';
import { SearchTables } from './search-schema.ts';
import type { Session } from './session.ts';
import { statement } from './statement.ts';
import { swapRecords, sweepSpaces } from './swap.ts';
import { transact } from './transact.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** The room in which long searches take turns with other long work; without it each search takes turns alone. */
  readonly turns?: TurnRoom;
  /** Whether a missing schema is created (default), or every call is refused with `NoStoreError`. */
  readonly create?: boolean;
  /**
   * The collections as their owners declare them: without this member the store treats every collection as paired. A
   * change of a declaration needs a swap if the collection has records.
   */
  readonly collections?: readonly Collection[];
  /** Memory for the vectors of searches, in bytes. */
  readonly vectorBytesMax?: number;
}

const vectorBytesDefault = 512 * 1024 * 1024;

const pingTimeoutMs = 5_000;

/** Makes no call: the first call connects, and creates the schema if it is missing and may be created. */
export function openPostgresStore(options: PostgresStoreOptions): RecordStore {
  const { schema = defaults.schema } = options;
  // Statements contain it without quotes.
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StoreError(
      'unavailable',
      'the schema must be a word of lower-case letters, digits and underscores',
    );
  }
  return new PostgresStore(options, schema);
}

class PostgresStore implements RecordStore {
  readonly provider = 'postgresql';
  readonly notices: Notifications;
  readonly #schema: string;
  readonly #create: boolean;
  readonly #session: Session;
  readonly #lanes: ScopeLanes;
  readonly #underWay = new Set<Promise<unknown>>();
  #ready: Promise<void> | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresStoreOptions, schema: string) {
    this.#schema = schema;
    this.#create = options.create ?? true;
    const { clock, random, timers } = options;
    const unpaired = new Set(options.collections?.filter((c) => !c.pairedIndexes).map(({ name }) => name));
    const paired = (collection: string) => !unpaired.has(collection);
    const grouped = groupedNames(options.collections);
    const database = new Database(options);
    const tables = {
      locks: new Locks(schema),
      rivalry: new Rivalry(clock),
      search: new SearchTables(),
    };
    const nearest = new NearestSearch({
      bytesMax: options.vectorBytesMax ?? vectorBytesDefault,
      clock: options.clock,
      turns: options.turns,
    });
    const looks = new LookMemory(lookWidths);
    this.#session = { database, ...tables, nearest, looks, clock, random, timers, paired, grouped };
    const { poolSize, connectTimeoutMs, statementTimeoutMs } = { ...defaults, ...options };
    const connection = notificationsConfig(driverUrl(options.connectionString), connectTimeoutMs);
    this.notices = new Notifications({ connection, schema, random, timers });
    this.#lanes = new ScopeLanes({
      width: Math.ceil(poolSize / 2),
      timers,
      waitMaxMs: statementTimeoutMs + 2 * connectTimeoutMs,
    });
  }

  transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    return this.#changing(scope, () => transact(this.#session, scope, request, decide));
  }

  query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    return this.#call(() =>
      this.#session.database.run((connection) => readPage(connection, this.#session.looks, scope, selection)),
    );
  }

  snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    return this.#call(() =>
      this.#session.database.run((connection) => readAtOnce(this.#session, connection, scope, read)),
    );
  }

  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    return this.#changing(scope, () => claim(this.#session, scope, collection, request, decide));
  }

  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage> {
    return this.#call(() =>
      this.#session.database.run((connection) => readDue(connection, scope, collection, request)),
    );
  }

  scan(scope: Scope, request: ScanRequest): AsyncIterable<ScanPage> {
    const open = () => this.#call(() => this.#session.database.openScan());
    return scanRecords(open, scope, request);
  }

  swap(scope: Scope, records: AsyncIterable<RecordData>, verify: () => void | Promise<void>): Promise<void> {
    return this.#call(async () => {
      try {
        await swapRecords(this.#session, scope, records, verify);
      } finally {
        this.#sweepBehind();
      }
    });
  }

  sweep(): Promise<void> {
    return this.#call(() => this.#sweep());
  }

  async ping(): Promise<void> {
    const ping = { ...statement('SELECT 1'), timeoutMs: pingTimeoutMs };
    await this.#call(() => this.#session.database.run((connection) => connection.send(ping)));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    await this.#sweeping;
    await this.notices.close();
    await this.#session.database.close();
  }

  /**
   * The most concurrent changes of a scope, by the width of its lanes: each may wait for locks, and holds a connection
   * during the wait.
   */
  #changing<R>(scope: Scope, work: () => Promise<R>): Promise<R> {
    return this.#call(() => this.#lanes.run(`${scope.kind}/${scope.name}`, work));
  }

  /** Runs once the schema exists; remembered until it is answered, so that `close` waits for it. */
  async #call<R>(work: () => Promise<R>): Promise<R> {
    if (this.#closing !== undefined) throw closedError();
    const call = this.#prepared().then(work);
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }

  /** One preparation for all calls that need it; after a failure the next call tries again. */
  #prepared(): Promise<void> {
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare(): Promise<void> {
    const { database, locks, search } = this.#session;
    const how = { schema: this.#schema, locks, create: this.#create };
    await database.run(async (connection) => {
      const searched = await migrate(connection, how);
      await search.prepare(connection, locks, searched);
    });
    this.#sweepBehind();
  }

  /** One sweep at a time; it ends when the store closes. */
  #sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => sweepSpaces(this.#session, () => this.#closing !== undefined));
    this.#sweeping = swept.catch(() => undefined);
    return swept;
  }

  /** The next swap or the next start repeats a failed sweep. */
  #sweepBehind(): void {
    this.#sweep().catch(() => undefined);
  }
}
