import {
  type ClaimDecision,
  type ClaimRequest,
  type Collection,
  type CountSelection,
  type Decision,
  type DueRequest,
  type Find,
  type KeyRequest,
  type KeysSelection,
  type ListSelection,
  type LoadedRecords,
  type Moment,
  type PartPage,
  type PartsSelection,
  type RecordData,
  type RecordKey,
  type RecordPage,
  type RecordStore,
  type ScanPage,
  type ScanRequest,
  type Scope,
  StoreError,
  type TransactRequest,
  type Write,
} from '../../functions/store/port.ts';
import { checkWrites, unguardedNames } from '../../functions/store/requested.ts';
import type { FindPage, FindRequest } from '../../functions/store/search.ts';
import { type Change, keyName, type MemoryDatabase, type Stored, viewOf } from './memory-database.ts';
import { byDue, dueAfter, duePlace } from './memory-due.ts';
import { findRecords } from './memory-find.ts';
import { widestViews } from './memory-keys.ts';
import { compareUtf8, countRecords, listParts, listRecords } from './memory-list.ts';

export type Trip =
  | 'transact read'
  | 'transact write'
  | 'query'
  | 'due'
  | 'claim read'
  | 'claim write'
  | 'scan'
  | 'swap'
  | 'ping';

/** Where a simulation takes part. Without hooks the store is a plain, correct one. */
export interface MemoryHooks {
  /** Runs before and after each round trip to the database; what it throws ends the call there. */
  readonly before?: (trip: Trip) => Promise<void>;
  readonly after?: (trip: Trip) => Promise<void>;
  /** Whether rivals win this attempt, which is then made again. */
  readonly loses?: (trip: Trip) => boolean;
  /** Whether keys that the caller expects to be absent go unread. */
  readonly skipsExpectedAbsent?: () => boolean;
  /** The most records of a page, or of what a swap sends at a time, below what was asked for. */
  readonly pageMax?: () => number;
  /** Called at the one moment of a read in `transact`, and at that of any write. */
  readonly observed?: () => void;
  readonly applied?: (scope: Scope, changes: readonly Change[]) => void;
  /** Called at the one moment of a swap, with all that the scope holds from now on. */
  readonly replaced?: (scope: Scope, records: readonly Required<Omit<RecordData, 'keptOutside'>>[]) => void;
}

/** The view of an attempt: the version of each guarded key, and the records it may see. */
export interface Sight {
  readonly versions: ReadonlyMap<string, number>;
  readonly records: ReadonlyMap<string, RecordData>;
  /** Expected to be absent, and not looked at. */
  readonly unread: ReadonlySet<string>;
}

const ABSENT = 0;
/** The most records that a swap sends at a time. */
const SWAP_BATCH = 10;

/** The whole port in memory, by optimistic transactions: read, decide, write if nothing that was read has changed. */
export class MemoryStore implements RecordStore {
  readonly provider: string = 'memory';
  readonly #snapshots: RecordData[][] = [];
  readonly #attemptsMax: number;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;
  protected readonly database: MemoryDatabase;
  protected readonly hooks: MemoryHooks;

  constructor(database: MemoryDatabase, hooks: MemoryHooks = {}, attemptsMax = 10_000) {
    this.database = database;
    this.hooks = hooks;
    this.#attemptsMax = attemptsMax;
  }

  transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    return this.#open(() => this.#transact(scope, request, decide));
  }

  async #transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    let skips = this.hooks.skipsExpectedAbsent?.() ?? false;
    for (let attempt = 0; attempt < this.#attemptsMax; attempt++) {
      const sight = await this.#trip('transact read', () => {
        this.hooks.observed?.();
        return this.see(scope, request.keys, skips);
      });
      let decision: Decision<R>;
      try {
        decision = decide({ get: (key) => sight.records.get(keyName(key)) });
        checkWrites(decision.writes, request.keys);
      } catch (error) {
        if (sight.unread.size === 0) throw error;
        // A refusal is an answer too, so it must not rest on records that were not read.
        skips = false;
        continue;
      }
      if (decision.writes.length === 0) {
        if (sight.unread.size === 0) return decision.result;
        skips = false;
        continue;
      }
      await this.hooks.before?.('transact write');
      if (this.hooks.loses?.('transact write') !== true && this.unchanged(scope, sight)) {
        await this.apply(scope, decision.writes);
        await this.written(scope, decision.writes);
        return decision.result;
      }
      skips = false;
    }
    throw new StoreError('contention', 'rivals won every attempt');
  }

  async query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  async query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  async query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    const read = () =>
      selection.by === 'keys'
        ? { records: this.readKeys(scope, selection.keys), next: null }
        : this.#page(selection, this.database.all(scope));
    return this.#open(() => this.#trip('query', read));
  }

  #page(selection: ListSelection | PartsSelection, all: Stored[]): RecordPage | PartPage {
    if (selection.by === 'parts') return listParts(all, selection);
    const listed = all.filter(({ record }) => record.key.collection === selection.collection.name);
    return listRecords(listed, selection, this.hooks.pageMax?.() ?? selection.limit);
  }

  /** The first read fixes the moment. */
  snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    let fixed: { readonly all: Stored[]; readonly generation: number } | undefined;
    const fix = () => {
      fixed ??= { all: this.moment(scope), generation: this.database.generation(scope) };
      return fixed;
    };
    let named: ReadonlyMap<string, Stored> | undefined;
    const query = (selection: KeysSelection | ListSelection | PartsSelection) =>
      this.#trip('query', () => {
        const { all } = fix();
        if (selection.by !== 'keys') return this.#page(selection, all);
        named ??= new Map(all.map((stored) => [keyName(stored.record.key), stored]));
        const records = this.readKeys(scope, selection.keys, (key) => named?.get(keyName(key)));
        return { records, next: null };
      });
    const find = (request: FindRequest) => this.#trip('query', () => this.find(scope, fix().all, request));
    const count = (selection: CountSelection) =>
      this.#trip('query', () => countRecords(fix().all, selection, this.hooks.pageMax?.() ?? selection.max));
    const generation = () => this.#trip('query', () => `${fix().generation}`);
    const moment = { query: query as Moment['query'], find: find as Find, count, generation };
    return this.#open(() => read(moment));
  }

  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    return this.#open(() => this.#claim(scope, collection, request, decide));
  }

  async #claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    const won: R[] = [];
    const settled = new Set<string>();
    let offer = 0;
    for (let attempt = 0; attempt < this.#attemptsMax && won.length < request.limit; attempt++) {
      const offers = await this.#trip('claim read', () =>
        this.dueRecords(scope, collection, request, settled).slice(0, request.limit - won.length),
      );
      if (offers.length === 0) return won;
      for (const stored of offers) {
        const name = keyName(stored.record.key);
        const decision = decide(viewOf(stored.record, 'body'), offer++);
        if (decision === null) {
          settled.add(name);
          continue;
        }
        if (keyName(decision.put.key) !== name) throw new Error(`a claim of ${name} wrote another record`);
        if (!(await this.#win(scope, stored, decision.put))) continue;
        settled.add(name);
        if (decision.result !== undefined) won.push(decision.result);
      }
    }
    if (won.length === 0) throw new StoreError('contention', 'rivals won every offer');
    return won;
  }

  async #win(scope: Scope, stored: Stored, put: RecordData): Promise<boolean> {
    await this.hooks.before?.('claim write');
    if (this.hooks.loses?.('claim write') === true || !this.stillAs(scope, stored)) return false;
    this.applyNow(scope, [{ put }]);
    await this.hooks.after?.('claim write');
    return true;
  }

  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage> {
    return this.#open(() => this.#trip('due', () => this.readDue(scope, collection, request)));
  }

  async *scan(scope: Scope, request: ScanRequest): AsyncGenerator<ScanPage, void, undefined> {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    const begin = () => this.#trip('scan', () => this.#snapshots.push(this.ordered(scope, request)) - 1);
    const [snapshot, from] = request.resume?.split(':').map(Number) ?? [await begin(), 0];
    const records = this.#snapshots[snapshot ?? -1];
    if (records === undefined) throw new Error('there is no such scan to resume');
    for (let next = from ?? 0; next < records.length; ) {
      const page = records.slice(next, next + this.pageSize(request));
      next += page.length;
      yield { records: page, resume: `${snapshot}:${next}` };
      if (next < records.length) await this.#trip('scan', () => undefined);
    }
  }

  protected pageSize({ pageSize }: ScanRequest): number {
    return Math.min(pageSize, this.hooks.pageMax?.() ?? pageSize);
  }

  swap(scope: Scope, records: AsyncIterable<RecordData>, verify: () => void | Promise<void>): Promise<void> {
    return this.#open(() => this.#swap(scope, records, verify));
  }

  async #swap(
    scope: Scope,
    records: AsyncIterable<RecordData>,
    verify: () => void | Promise<void>,
  ): Promise<void> {
    const loaded: RecordData[] = [];
    const batch = Math.min(SWAP_BATCH, this.hooks.pageMax?.() ?? SWAP_BATCH);
    for await (const record of records) {
      loaded.push(record);
      if (loaded.length % batch === 0) await this.#trip('swap', () => this.loaded(scope, loaded));
    }
    await verify();
    await this.#trip('swap', () => this.replaceNow(scope, loaded));
  }

  ping(): Promise<void> {
    return this.#open(() => this.#trip('ping', () => undefined));
  }

  /** A swap leaves nothing behind here. */
  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }

  async #open<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    const running = call();
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }

  async #trip<T>(trip: Trip, act: () => T): Promise<T> {
    await this.hooks.before?.(trip);
    const outcome = act();
    await this.hooks.after?.(trip);
    return outcome;
  }

  // Planted bugs override the members below.

  /** The records of a scan, all as of this moment. */
  protected ordered(scope: Scope, { collections }: ScanRequest): RecordData[] {
    return this.database
      .all(scope)
      .map(({ record }) => record)
      .filter(({ key }) => collections.includes(key.collection))
      .sort((l, r) => compareUtf8(l.key.collection, r.key.collection) || compareUtf8(l.key.id, r.key.id));
  }

  /** Receives the records that a swap has sent so far, which no reader sees yet. */
  protected loaded(_scope: Scope, _records: readonly RecordData[]): void {}

  protected replaceNow(scope: Scope, records: readonly RecordData[]): void {
    this.database.replace(scope, records);
    this.hooks.replaced?.(
      scope,
      this.database.all(scope).map(({ record }) => record),
    );
  }

  protected see(scope: Scope, keys: readonly KeyRequest[], skips: boolean): Sight {
    const versions = new Map<string, number>();
    const records = new Map<string, RecordData>();
    const unread = new Set<string>();
    const unguarded = unguardedNames(keys);
    for (const [name, { key, view, expectAbsent }] of widestViews(keys)) {
      const skipped = skips && expectAbsent && !unguarded.has(name);
      if (skipped) unread.add(name);
      const stored = skipped ? undefined : this.database.find(scope, key);
      if (!unguarded.has(name)) versions.set(name, stored?.version ?? ABSENT);
      if (stored !== undefined) records.set(name, viewOf(stored.record, view));
    }
    return { versions, records, unread };
  }

  protected unchanged(scope: Scope, sight: Sight): boolean {
    for (const [name, version] of sight.versions) {
      const [collection = '', id = ''] = name.split('/');
      if ((this.database.find(scope, { collection, id })?.version ?? ABSENT) !== version) return false;
    }
    return true;
  }

  protected stillAs(scope: Scope, { record, version }: Stored): boolean {
    return this.database.find(scope, record.key)?.version === version;
  }

  /** Runs to its first await at once, and so has no moment between the check and the write. */
  protected async apply(scope: Scope, writes: readonly Write[]): Promise<void> {
    this.applyNow(scope, writes);
  }

  protected applyNow(scope: Scope, writes: readonly Write[]): void {
    const changes = this.database.apply(scope, writes);
    this.hooks.applied?.(scope, changes);
  }

  /** The round trip of the reply. */
  protected async written(_scope: Scope, _writes: readonly Write[]): Promise<void> {
    await this.hooks.after?.('transact write');
  }

  /** The one state that all reads of a call see. */
  protected moment(scope: Scope): Stored[] {
    return this.database.all(scope);
  }

  protected find(_scope: Scope, all: readonly Stored[], request: FindRequest): FindPage {
    return findRecords(all, request);
  }

  protected readKeys(
    scope: Scope,
    keys: readonly KeyRequest[],
    find: (key: RecordKey) => Stored | undefined = (key) => this.database.find(scope, key),
  ): RecordData[] {
    return keys.flatMap(({ key, view = 'head' }) => {
      const stored = find(key);
      return stored === undefined ? [] : [viewOf(stored.record, view)];
    });
  }

  protected readDue(scope: Scope, collection: Collection, request: DueRequest): RecordPage {
    const now = request.now ?? Number.MAX_SAFE_INTEGER;
    const size = Math.min(request.limit, this.hooks.pageMax?.() ?? request.limit);
    const due = this.dueRecords(scope, collection, { now, limit: request.limit }, new Set());
    const rest = request.after === undefined ? due : dueAfter(due, request.after);
    const page = rest.slice(0, size);
    const last = page.at(-1);
    return {
      records: page.map(({ record }) => viewOf(record, 'body')),
      next: last === undefined || page.length === rest.length ? null : duePlace(last),
    };
  }

  protected dueRecords(
    scope: Scope,
    collection: Collection,
    { now }: ClaimRequest,
    settled: ReadonlySet<string>,
  ): Stored[] {
    return this.database
      .all(scope, collection.name)
      .filter(({ record }) => record.due !== null && record.due <= now && !settled.has(keyName(record.key)))
      .sort(byDue);
  }
}
