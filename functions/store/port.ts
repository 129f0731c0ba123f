import type {
  CountsRequest,
  FoundCounts,
  FoundEntries,
  FoundNearest,
  NearestRequest,
  SearchEntry,
  TermRequest,
  WordCountsReader,
} from './search.ts';

/**
 * `RecordStore`: the port through which the service keeps records in a database. Each verb carries its intent, so that each provider
 * answers with its best tool, and every rule of the service is written once, above them, as pure functions.
 *
 * All verbs on one scope are strictly serializable: an answer was true at one moment between the call and its reply.
 */
export interface RecordStore {
  /** The provider's name in settings and status documents, such as `sqlite`. */
  readonly provider: string;

  /**
   * Whether index entries count against the limit of one transaction, as on Firestore. Elsewhere they cost only time.
   */
  readonly weighsIndexEntries?: true;

  /**
   * Reads the records of known keys, calls `decide` for the writes, and makes all of them or none.
   *
   * `decide` is pure and runs again when a rival changed a record that it saw. An error from `decide` ends the call with
   * nothing written. Only requested keys may be written, each once. Every requested key is guarded, whether written or not,
   * unless its request says `unguarded`.
   */
  transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R>;

  /**
   * Throws the refusal that a `grows` decision of this many new bytes would get, before the caller writes bytes outside
   * of the store. Counts nothing. Absent in a store without limits.
   */
  admit?(owner: ByteOwner, bytes: number, by: 'request' | 'job'): Promise<void>;

  /** Reads without locks: known keys, a listing over projected indexes, or the parts filed under another key. */
  query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(scope: Scope, selection: PartsSelection): Promise<PartPage>;

  /**
   * Calls `read` with one moment of the scope, which all its reads share. `read` makes a few reads in a row and nothing
   * else: a provider may run it again from the start, and ends one that waits for long.
   */
  snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R>;

  /**
   * Offers due records (`due <= now`), earliest first, then by listing id. `decide` returns the record to write back;
   * exactly one caller wins each write, and only results of won writes are returned. The call ends when `limit` results
   * are won, no record is due, or a provider's limit of one call is reached. `decide` gets a number that no other offer
   * of this call has.
   */
  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]>;

  /**
   * Reads due records in the order of `claim`, with body and listing. It claims nothing and writes nothing, so a rival
   * may claim the records at the same time. Without `now`: all records that have a `due`.
   */
  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage>;

  /** All records of the named collections, whole, as of one moment, in the order of collection name, then record id. */
  scan(scope: Scope, request: ScanRequest): AsyncIterable<ScanPage>;

  /**
   * Replaces everything in the scope by `records`, atomically and at any size. Nothing is visible until all are loaded
   * and `verify` has returned; when `records` or `verify` throws, the scope stays as it was.
   */
  swap(scope: Scope, records: AsyncIterable<RecordData>, verify: () => void | Promise<void>): Promise<void>;

  /**
   * Deletes replaced content of swaps, and the leftovers of dead loads, when no call can need them any more: a load
   * counts as dead after an hour without a write. For maintenance: SQL databases also sweep after a swap and when they
   * are opened; Firestore keeps replaced records for an hour and deletes them within the next swap of the same scope.
   * There `scope` names the scope to sweep; without it, Firestore reads the head of every scope that was ever swapped.
   */
  sweep(scope?: Scope): Promise<void>;

  /**
   * Resolves when the database answers. Otherwise throws `StoreError`: `full` when it answers reads but has no room for
   * writes, as far as a provider knows without writing, else `unavailable`.
   */
  ping(): Promise<void>;

  /**
   * A mark that changes after each write of any process. Reading it costs the database nothing. Absent where only a
   * query finds changes.
   */
  changeMark?(): string;

  /** Notices between the processes of one database. Absent when the database has none. */
  readonly notices?: Notices;

  /** Waits for the calls under way and closes the connections to the database. */
  close(): Promise<void>;
}

/** A notice may be lost, so processes also search from time to time. */
export interface Notices {
  /**
   * Connects in the background, again after each failure, until the store is closed. Notices of this process are not
   * among those received. One listener a process.
   */
  listen(listener: NoticeListener): void;

  /** Sends a notice of a change that is durable, without waiting. Dropped by a process that does not listen. */
  send(notice: Notice): void;
}

export interface Notice {
  /** The kind of change. Every user of the database may read it, so it holds no data of tenants. */
  readonly topic: string;
  /** How many changes, of one or several calls of `send`. */
  readonly count: number;
}

export interface NoticeListener {
  received(notice: Notice): void;
  /** A connection was made: notices before it did not arrive. */
  mayHaveMissed(): void;
}

/** A scope at one moment. Reads run one at a time. */
export interface Moment {
  query(selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(selection: PartsSelection): Promise<PartPage>;

  /** Finds records of one group by their search entries. */
  readonly find: Find;

  /** Absent: the provider scores no words, and finds entries with their lexicons alone. */
  readonly wordCounts?: WordCountsReader;

  /** Counts listed records of one group by their indexes, page by page, and returns none of them. */
  readonly count: Count;

  /** Names the content of the scope from one swap to the next. Called after a query; positions in lists end with it. */
  generation(): Promise<string>;
}

export interface Find {
  (request: CountsRequest): Promise<FoundCounts>;
  (request: TermRequest): Promise<FoundEntries>;
  (request: NearestRequest): Promise<FoundNearest>;
}

export type Count = (selection: CountSelection) => Promise<CountPage>;

/** Records that are read and changed together: one tenant's data, one space's, or a ledger of the service itself. */
export interface Scope {
  readonly kind: 'tenants' | 'spaces' | 'system';
  readonly name: string;
}

/** The domain's declaration of a kind of record. */
export interface Collection {
  /** A full word, such as `documents`; operators meet it in the database. */
  readonly name: string;
  /** Whether an equality on one index is combined with the order of another straight from an index (costs k² entries). */
  readonly pairedIndexes: boolean;
  /**
   * Every list of the collection names a group, and a list without one is refused. A list by an index then reads no entry
   * of another group, and a provider keeps no entries across groups.
   */
  readonly listedByGroup?: true;
  /** Whether its records have search entries: a database with declared indexes then has those of searches for it. */
  readonly searched?: true;
}

/** `id` is 32 lower-case hexadecimal digits made by `recordId`, never a caller's string. */
export interface RecordKey {
  readonly collection: string;
  readonly id: string;
}

/** Small facts, always loaded with the record. */
export type Head = Readonly<Record<string, string | number | boolean | null>>;

export interface RecordData {
  readonly key: RecordKey;
  readonly head: Head;
  /** JSON text. In a write, absent keeps the stored text; `null` stores none. */
  readonly body?: string | null;
  /** How lists find the record. In a write, absent keeps the stored listing; `null` removes the record from all lists. */
  readonly listing?: Listing | null;
  /**
   * The record's search entry. In a write, absent keeps the stored entry; `null` removes the record from all searches.
   * Reads omit it.
   */
  readonly search?: SearchEntry | null;
  /** When the record may be claimed, in whole milliseconds since 1970. Absent or `null`: never. */
  readonly due?: number | null;
  /** Bodies filed with the record under other keys; written once, when the record is created. */
  readonly parts?: readonly Part[];
  /** In a write: bytes in the blob store that the record names. They count to its owner. */
  readonly keptOutside?: BytesOutside;
}

export interface BytesOutside {
  readonly bytes: number;
  /** No record has named them before: they count as written too. */
  readonly isNew: boolean;
}

export interface Listing {
  /** The first word of the order, such as the document type. */
  readonly group: string;
  /** Unique within collection and group. */
  readonly id: string;
  /** Left out of lists that do not ask for hidden records; has no indexes. */
  readonly hidden: boolean;
  /** Values projected by the caller, compared as UTF-8 bytes. Neither names nor values hold U+0000. */
  readonly indexes: Readonly<Record<string, string>>;
}

/** One body among those filed under `of` (a record id), in the order of `order` (fixed width, unique within `of`). */
export interface Part {
  readonly of: string;
  readonly order: string;
  readonly body: string;
}

/**
 * `head`: head and `due` only; the other members are absent, so that writing the record back keeps them. `body`: with body
 * and listing. `parts`: with body, listing and parts.
 */
export type RecordView = 'head' | 'body' | 'parts';

export interface KeyRequest {
  readonly key: RecordKey;
  /** Default `head`. */
  readonly view?: RecordView;
  /**
   * The caller expects that the record is missing, so a provider may skip the read. If the record exists, the provider
   * reads it and runs `decide` again. It also reads the key before it accepts a refusal or a decision without writes.
   */
  readonly expectAbsent?: boolean;
  /**
   * The decision reads the key at the same moment as the others, but the provider takes no lock and sets no condition
   * on it, so a later change does not spoil the decision. The decision may not write the key. A key that is also
   * requested without this member is guarded. `expectAbsent` has no effect beside it.
   *
   * The decision then takes effect as if it came just before the next change of the key. That order holds if no call
   * that saw the changed key reads or writes the records that this decision writes, as when the key names the place of
   * other records.
   */
  readonly unguarded?: true;
}

export interface TransactRequest {
  /** The key that rivals of the same intent share; a provider may queue them on it. */
  readonly gate?: RecordKey;
  readonly keys: readonly KeyRequest[];
  /**
   * The call removes records, or ends or cancels work so that records can be removed. A provider that keeps space in
   * reserve lets such a call use it; all other new data is refused with `full` before the reserve is touched.
   */
  readonly frees?: boolean;
}

/** The owner of stored bytes: a tenant with the runs of its products, or a space. */
export interface ByteOwner {
  readonly kind: 'tenants' | 'spaces';
  readonly name: string;
}

export interface LoadedRecords {
  get(key: RecordKey): RecordData | undefined;
}

export interface Decision<R> {
  readonly writes: readonly Write[];
  readonly result: R;
  /** The owner whose quota counts the written records; only in a scope of the service, which has no owner. */
  readonly owner?: ByteOwner | null;
  /**
   * The writes may add bytes at the request of a caller: the store refuses them when their owner's quota is used up,
   * and those of a `request` also when requests have used up the bytes of the minute, for additions and replacements
   * alike. Other writes count and always pass.
   */
  readonly grows?: 'request' | 'job' | false;
}

export type Write = { readonly put: RecordData } | { readonly remove: RecordKey };

export interface KeysSelection {
  readonly by: 'keys';
  readonly keys: readonly KeyRequest[];
}

export interface ListSelection {
  readonly by: 'list';
  readonly collection: Collection;
  /** Only records of this group; without it all groups, ordered by group before id. */
  readonly group?: string;
  readonly equal?: Readonly<Record<string, string>>;
  /** Both bounds inclusive. */
  readonly range?: { readonly index: string; readonly from?: string; readonly to?: string };
  /** By index value, then group, then id, all in one direction; records without that index are omitted. */
  readonly orderBy?: string;
  readonly direction?: 'ascending' | 'descending';
  readonly includeHidden?: boolean;
  /** Default `body`. The pages of a list may change their view. */
  readonly view?: 'head' | 'body';
  readonly limit: number;
  /** `next` of the page before, with everything else equal. */
  readonly after?: string;
  /**
   * Without `after`: starts after this listing id, which need not exist. Only for one group in the order of its ids.
   */
  readonly afterId?: string;
}

export interface CountSelection {
  readonly collection: Collection;
  readonly group: string;
  readonly equal?: Readonly<Record<string, string>>;
  /** The listing id begins with this and is longer. */
  readonly idPrefix?: string;
  /** A provider may stop at this number, summed over all pages, but need not. */
  readonly max: number;
  /** `next` of the page before, with everything else equal. */
  readonly after?: string;
}

export interface CountPage {
  /** Records that are not hidden and fulfil the selection, of those that no page before has counted. */
  readonly count: number;
  /** `null` when no records are left to count. */
  readonly next: string | null;
  /** Records that were read or are billed, or an equivalent cost in time. */
  readonly reads: number;
}

export interface PartsSelection {
  readonly by: 'parts';
  /** The collection whose records hold the parts. Records of two collections never file parts under one id. */
  readonly collection: Collection;
  readonly of: string;
  readonly direction: 'ascending' | 'descending';
  readonly limit: number;
  readonly after?: string;
}

/** A page may be short or empty and still have a `next`, when the provider's scan budget was used up. */
export interface RecordPage {
  readonly records: readonly RecordData[];
  readonly next: string | null;
}

export interface PartPage {
  readonly parts: readonly Part[];
  readonly next: string | null;
}

export interface ClaimRequest {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly limit: number;
}

export interface DueRequest {
  /** Milliseconds since 1970; `null` also reads records that are due later, so that a limit of 1 finds the earliest time. */
  readonly now: number | null;
  readonly limit: number;
  /** `next` of the page before, with the same `now`. */
  readonly after?: string;
}

/** `null` passes the record over. A write without `result` is made but wins nothing (a dead letter is parked so). */
export type ClaimDecision<R> = (
  record: RecordData,
  offer: number,
) => { readonly put: RecordData; readonly result?: R } | null;

export interface ScanRequest {
  readonly collections: readonly string[];
  readonly pageSize: number;
  /** `resume` of a page: continues after it, at the same moment. */
  readonly resume?: string;
}

export interface ScanPage {
  readonly records: readonly RecordData[];
  /** `null` when the provider cannot continue after a restart. */
  readonly resume: string | null;
}

/**
 * - `contention`: rivals won every attempt; nothing was written; try again later.
 * - `unavailable`: the database did not answer; whether the write was made is unknown.
 * - `too_large`: the write exceeds what one transaction of this database can carry; nothing was written.
 * - `full`: no space left; nothing was written.
 * - `corrupt`: stored data contradicts itself.
 */
export type StoreFailure = 'contention' | 'unavailable' | 'too_large' | 'full' | 'corrupt';

export class StoreError extends Error {
  readonly failure: StoreFailure;
  /** Whether the settings are wrong: the database refuses them, or does not exist. Another try does not help. */
  readonly isMisconfigured: boolean;

  constructor(
    failure: StoreFailure,
    message: string,
    { isMisconfigured = false, ...options }: ErrorOptions & { readonly isMisconfigured?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'StoreError';
    this.failure = failure;
    this.isMisconfigured = isMisconfigured;
  }
}

/** The connection string cannot be parsed. No server was contacted, and another try does not help. */
export class ConnectionStringError extends StoreError {
  constructor(message: string) {
    super('unavailable', message, { isMisconfigured: true });
  }
}

/** The database has no tables of the service, and the options forbid creating them. */
export class NoStoreError extends StoreError {
  constructor() {
    super('unavailable', 'the database holds no canonical store');
  }
}
