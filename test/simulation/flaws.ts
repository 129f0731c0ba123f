import { sha256 } from '../../functions/kernel/canonical-json.ts';
import type { RandomSource } from '../../functions/kernel/world.ts';
import type {
  Collection,
  KeyRequest,
  LoadedRecords,
  RecordData,
  RecordKey,
  RecordStore,
  Scope,
  Write,
} from '../../functions/store/port.ts';
import { StoreError } from '../../functions/store/port.ts';
import { currentCall } from './canonical-calls.ts';
import { keyName, type Stored } from './memory-database.ts';
import { byDue } from './memory-due.ts';
import { MemoryStore, type Sight } from './memory-store.ts';
import { Random } from './random.ts';

/** A bug planted on purpose: the simulation is only trusted as far as it finds these. */
export interface Flaw {
  readonly about: string;
  readonly store?: typeof MemoryStore;
  /** Stands between the rules and the store: what a broken rule would see or write. */
  readonly wrap?: (store: RecordStore) => RecordStore;
  readonly random?: () => RandomSource;
}

export class UnguardedReads extends MemoryStore {
  protected override unchanged(): boolean {
    return true;
  }
}

export class TornWrites extends MemoryStore {
  protected override async apply(scope: Scope, writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      this.applyNow(scope, [write]);
      await this.hooks.before?.('transact write');
    }
  }
}

/** Checks the version when it reads the record to be claimed, but not when it writes. */
export class DoubleClaim extends MemoryStore {
  protected override stillAs(): boolean {
    return true;
  }
}

class TrustedAbsence extends MemoryStore {
  protected override unchanged(scope: Scope, sight: Sight): boolean {
    const read = [...sight.versions].filter(([name]) => !sight.unread.has(name));
    return super.unchanged(scope, { ...sight, versions: new Map(read) });
  }
}

/** Loses acknowledged writes now and then, as a disk without a sync does. */
export class LostWrites extends MemoryStore {
  #writes = 0;

  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    const changes = this.database.apply(scope, writes);
    this.hooks.applied?.(scope, changes);
    if (++this.#writes % 7 !== 0) return;
    const back = changes.map(({ key, before }) => (before === undefined ? { remove: key } : { put: before }));
    this.database.apply(scope, back);
  }
}

/** Writes for one tenant also reach another. */
class MixedTenants extends MemoryStore {
  protected override applyNow(scope: Scope, writes: readonly Write[]): void {
    super.applyNow(scope, writes);
    if (scope.kind === 'tenants') this.database.apply({ kind: 'tenants', name: 'tenant-c' }, writes);
  }
}

/** Repeats the earlier writes after a lost reply. */
export class BlindRetry extends MemoryStore {
  protected override async written(scope: Scope, writes: readonly Write[]): Promise<void> {
    try {
      await super.written(scope, writes);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      await this.hooks.before?.('transact write');
      this.applyNow(scope, writes);
    }
  }
}

class LeaseOverLease extends MemoryStore {
  protected override dueRecords(
    scope: Scope,
    collection: Collection,
    request: { now: number; limit: number },
    settled: ReadonlySet<string>,
  ): Stored[] {
    const leased = this.database
      .all(scope, collection.name)
      .filter(({ record }) => record.head.state === 'leased' && !settled.has(keyName(record.key)))
      .map(({ record, version }) => ({ version, record: { ...record, head: over(record.head) } }));
    const due = super
      .dueRecords(scope, collection, request, settled)
      .filter((s) => s.record.head.state !== 'leased');
    return [...due, ...leased].sort(byDue);
  }
}

function over(head: RecordData['head']): RecordData['head'] {
  return { ...head, leaseExpiresAtUtc: '2000-01-01T00:00:00.000Z' };
}

/** Reads from a copy that is brought up to date every few reads. */
class StaleReads extends MemoryStore {
  #reads = 0;
  readonly #copies = new Map<string, RecordData[]>();

  protected override readKeys(scope: Scope, keys: readonly KeyRequest[]): RecordData[] {
    const name = keys.map(({ key }) => keyName(key)).join();
    const copy = this.#copies.get(name);
    if (copy !== undefined && ++this.#reads % 4 !== 0) return copy;
    const fresh = super.readKeys(scope, keys);
    this.#copies.set(name, fresh);
    return fresh;
  }
}

export type Show = (record: RecordData) => RecordData | undefined;

/** A rule that sees records as `show` makes them, and whose writes pass through `mend`. */
export function between(
  show: Show,
  mend: (write: Write, shown: LoadedRecords) => Write | undefined = (write) => write,
) {
  return (store: RecordStore): RecordStore => ({
    provider: store.provider,
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const shown: LoadedRecords = {
          get: (key) => {
            const record = found.get(key);
            return record === undefined ? undefined : show(record);
          },
        };
        const { writes, result } = decide(shown);
        return { writes: writes.flatMap((write) => mend(write, found) ?? []), result };
      }),
    query: store.query.bind<RecordStore['query']>(store),
    snapshot: (scope, read) => store.snapshot(scope, read),
    claim: (scope, collection, request, decide) =>
      store.claim(scope, collection, request, (record, offer) => {
        const decision = decide(show(record) ?? record, offer);
        if (decision === null) return null;
        const put = mend(decision, { get: () => record });
        return put === undefined || !('put' in put) ? null : { ...decision, put: put.put };
      }),
    due: async (scope, collection, request) => {
      const page = await store.due(scope, collection, request);
      return { ...page, records: page.records.map((record) => show(record) ?? record) };
    },
    scan: (scope, request) => store.scan(scope, request),
    swap: (scope, records, verify) => store.swap(scope, records, verify),
    ping: () => store.ping(),
    sweep: (scope) => store.sweep(scope),
    close: () => store.close(),
  });
}

const isEvent = (key: RecordKey) => key.collection === 'events';

function changeHead(record: RecordData, head: RecordData['head']): RecordData {
  return { ...record, head: { ...record.head, ...head } };
}

/** The head of an event as `change` makes it; other records as they are. */
function showEvents(change: (head: RecordData['head']) => RecordData['head']): Show {
  return (record) => (isEvent(record.key) ? changeHead(record, change(record.head)) : record);
}

function tokenAtHand(): string | undefined {
  const call = currentCall();
  const body = call?.body as { readonly leaseToken?: string } | undefined;
  return call?.operation === 'acknowledgeCanonicalOutbox' ? body?.leaseToken : undefined;
}

/** Not for lease calls: they would then skip due events. */
function oneMillisecondLonger(head: RecordData['head']): RecordData['head'] {
  const { leaseExpiresAtUtc: expiry } = head;
  if (typeof expiry !== 'string' || currentCall()?.operation === 'leaseCanonicalOutbox') return {};
  return { leaseExpiresAtUtc: new Date(Date.parse(expiry) + 1).toISOString() };
}

function keepCeiling(write: Write, found: LoadedRecords): Write {
  if (!('put' in write) || !isEvent(write.put.key)) return write;
  const stored = found.get(write.put.key);
  return stored === undefined
    ? write
    : { put: changeHead(write.put, { maxDeliveryAttempts: stored.head.maxDeliveryAttempts ?? null }) };
}

function hideRivalsFence(record: RecordData): RecordData | undefined {
  const claims = (currentCall()?.body as { fences?: readonly { operation?: string }[] | null } | undefined)
    ?.fences;
  const claiming = claims?.some(({ operation }) => operation !== 'release') === true;
  return record.key.collection === 'fences' && claiming ? undefined : record;
}

export const FLAWS: Readonly<Record<string, Flaw>> = {
  'unguarded-reads': {
    about: 'a write does not check that what was read has not changed',
    store: UnguardedReads,
  },
  'torn-writes': { about: 'the records of one decision are written one after the other', store: TornWrites },
  'double-claim': { about: 'two callers can win the same due record', store: DoubleClaim },
  'trusted-absence': { about: 'a key expected to be absent is not looked at', store: TrustedAbsence },
  'lost-writes': { about: 'a write that was answered is gone later', store: LostWrites },
  'blind-retry': { about: 'a lost reply is answered by writing again', store: BlindRetry },
  'mixed-tenants': { about: 'what one tenant writes also reaches another', store: MixedTenants },
  'lease-over-lease': {
    about: 'a lease call ignores that a rival still holds the event',
    store: LeaseOverLease,
  },
  'stale-reads': { about: 'a document is read from a copy that lags behind', store: StaleReads },
  'forgotten-receipt': {
    about: 'a commit does not keep its receipt',
    wrap: between(
      (record) => record,
      (write) => ('put' in write && write.put.key.collection === 'commits' ? undefined : write),
    ),
  },
  'lost-revision': {
    about: 'a commit files no revisions',
    wrap: between(
      (record) => record,
      (write) =>
        'put' in write && write.put.parts !== undefined ? { put: { ...write.put, parts: [] } } : write,
    ),
  },
  'ack-any-token': {
    about: 'an acknowledgement does not compare its token',
    wrap: between(
      showEvents(() => {
        const token = tokenAtHand();
        return token === undefined ? {} : { leaseTokenHash: sha256(token) };
      }),
    ),
  },
  'expiry-inclusive': {
    about: 'a lease still holds at the very moment of its expiry',
    wrap: between(showEvents(oneMillisecondLonger), (write, found) => mendExpiry(write, found)),
  },
  'ceiling-ignored': {
    about: 'an event is delivered without end',
    wrap: between(
      showEvents(() => ({ maxDeliveryAttempts: null })),
      keepCeiling,
    ),
  },
  'fence-taken-over': { about: 'a claim does not look who holds the fence', wrap: between(hideRivalsFence) },
  'forgotten-due': {
    about: 'a released event is never due again',
    wrap: between(
      (record) => record,
      (write) =>
        'put' in write &&
        write.put.head.state === 'open' &&
        currentCall()?.operation === 'releaseCanonicalOutbox'
          ? { put: { ...write.put, due: null } }
          : write,
    ),
  },
  'lost-index': {
    about: 'a released event is missing in the lists by state',
    wrap: between(
      (record) => record,
      (write) => ('put' in write && write.put.listing ? withoutPhase(write.put) : write),
    ),
  },
  'reused-tokens': {
    about: 'an instance draws the same tokens after each start',
    random: () => {
      const random = new Random(1);
      return { bytes: (size) => random.bytes(size) };
    },
  },
};

function withoutPhase(put: RecordData): Write {
  const { listing } = put;
  if (!listing || currentCall()?.operation !== 'releaseCanonicalOutbox') return { put };
  const { phase: _, ...indexes } = listing.indexes;
  return { put: { ...put, listing: { ...listing, indexes } } };
}

/** Undoes the effects of the longer lease, except the acceptance itself. */
function mendExpiry(write: Write, found: LoadedRecords): Write {
  if (!('put' in write) || !isEvent(write.put.key) || write.put.head.leaseExpiresAtUtc === null) return write;
  if (currentCall()?.operation === 'renewCanonicalOutboxLease') return write;
  const stored = found.get(write.put.key);
  const expiry =
    currentCall()?.operation === 'leaseCanonicalOutbox' ? undefined : stored?.head.leaseExpiresAtUtc;
  return expiry === undefined ? write : { put: changeHead(write.put, { leaseExpiresAtUtc: expiry }) };
}
