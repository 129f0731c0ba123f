import type { Firestore } from '@google-cloud/firestore';
import type { Clock, RandomSource, Timers } from '../../kernel/world.ts';
import { groupedNames } from '../grouping.ts';
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
import { claim } from './claim.ts';
import { type ClientOptions, createClient, readsTimeoutMs, withinTime } from './client.ts';
import { readDue } from './due.ts';
import { unavailable } from './failures.ts';
import { query, snapshot } from './query.ts';
import { scan } from './scan.ts';
import { ScopeStates, type Session } from './session.ts';
import type { Limits } from './size.ts';
import { swap } from './swap.ts';
import { sweepEverywhere, sweepScope } from './sweep.ts';
import { transact } from './transact.ts';

export interface FirestoreStoreOptions extends ClientOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** The most bytes of one commit with its changed index entries; a larger one fails as `too_large`. */
  readonly commitBytesMax?: number;
  /**
   * The collections as their owners declare them. `pairedIndexes` decides the index entries of a record, and a write
   * names its collection only; without this member the store treats every collection as paired.
   */
  readonly collections?: readonly Collection[];
}

const mebibyte = 1024 * 1024;
/** https://firebase.google.com/docs/firestore/quotas: a request, index entries included. */
const serviceBytesMax = 10 * mebibyte;
/** The emulator refuses larger messages; it does not weigh index entries. */
const emulatorMessageBytesMax = 4 * mebibyte - 64 * 1024;
const pingTimeoutMs = 4_000;

/** Makes no call to Firestore. */
export function openFirestoreStore(options: FirestoreStoreOptions): RecordStore {
  return new FirestoreStore(options, createClient(options));
}

/**
 * `client` is a parameter for tests, which count or break its calls.
 * @testonly
 */
export class FirestoreStore implements RecordStore {
  readonly provider = 'firestore';
  readonly weighsIndexEntries = true;
  readonly #session: Session;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(options: FirestoreStoreOptions, client: Firestore) {
    const { clock, random, timers, collections } = options;
    const paired = new Map(collections?.map(({ name, pairedIndexes }) => [name, pairedIndexes]));
    this.#session = {
      db: client,
      clock,
      random,
      timers,
      readsTimeoutMs: readsTimeoutMs(options),
      limits: limitsOf(options),
      states: new ScopeStates(),
      paired: (collection) => paired.get(collection) ?? collections === undefined,
      grouped: groupedNames(collections),
    };
  }

  transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    return this.#run(() => transact(this.#session, scope, request, decide));
  }

  query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  query(scope: Scope, selection: PartsSelection): Promise<PartPage>;
  query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage | PartPage> {
    return this.#run(() => query(this.#session, scope, selection));
  }

  snapshot<R>(scope: Scope, read: (moment: Moment) => Promise<R>): Promise<R> {
    return this.#run(() => snapshot(this.#session, scope, read));
  }

  claim<R>(
    scope: Scope,
    collection: Collection,
    request: ClaimRequest,
    decide: ClaimDecision<R>,
  ): Promise<R[]> {
    return this.#run(() => claim(this.#session, scope, collection, request, decide));
  }

  due(scope: Scope, collection: Collection, request: DueRequest): Promise<RecordPage> {
    return this.#run(() => readDue(this.#session, scope, collection, request));
  }

  async *scan(scope: Scope, request: ScanRequest): AsyncGenerator<ScanPage, void, undefined> {
    const pages = scan(this.#session, scope, request);
    for (;;) {
      const page = await this.#run(() => pages.next());
      if (page.done === true) return;
      yield page.value;
    }
  }

  swap(scope: Scope, records: AsyncIterable<RecordData>, verify: () => void | Promise<void>): Promise<void> {
    return this.#run(() => swap(this.#session, scope, records, verify));
  }

  sweep(scope?: Scope): Promise<void> {
    const stopped = () => this.#closed !== undefined;
    return this.#run(() =>
      scope === undefined
        ? sweepEverywhere(this.#session, stopped)
        : sweepScope(this.#session, scope, stopped),
    );
  }

  /** The document need not exist: any answer of Firestore proves that it is reachable. */
  ping(): Promise<void> {
    return this.#run(async () => {
      const { db, timers } = this.#session;
      try {
        await withinTime(timers, db.doc('system/s-ping').get(), pingTimeoutMs);
      } catch (error) {
        throw error instanceof StoreError ? error : unavailable(error);
      }
    });
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
      await this.#session.db.terminate();
    })();
    return this.#closed;
  }

  async #run<R>(work: () => Promise<R>): Promise<R> {
    if (this.#closed !== undefined) throw new StoreError('unavailable', 'the Firestore store is closed');
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }
}

function limitsOf({ emulatorHost, commitBytesMax }: FirestoreStoreOptions): Limits {
  return {
    messageBytesMax: emulatorHost === undefined ? serviceBytesMax : emulatorMessageBytesMax,
    commitBytesMax: commitBytesMax ?? serviceBytesMax,
  };
}
