import { movedFrom } from '../collections/collection-call.ts';
import type { RecordParts } from '../collections/parts.ts';
import { decideUpsert } from '../collections/rules/record-write.ts';
import type { EntryFormat } from '../collections/search/formats.ts';
import { recordKey } from '../collections/store-collections.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import { stampIn } from '../collections/stored-content.ts';
import { type FindableRecord, findableText, recordData } from '../collections/stored-record.ts';
import { writeBeside } from '../collections/write-beside.ts';
import { scaleOf, WEIGHT_MAX, weightOf } from '../collections/write-weight.ts';
import { inTurns } from '../kernel/turns.ts';
import { decisionTime } from '../kernel/world.ts';
import {
  type Decision,
  type KeyRequest,
  type LoadedRecords,
  type RecordStore,
  StoreError,
  type Write,
} from '../store/port.ts';
import type { KeptRecord, PlanWrite } from './plan-writes.ts';

/** The most writes of one transaction. */
const WRITES_MAX = 100;
/** The most kept records that the transaction of a whole plan checks. */
const KEPT_MAX = 100;

export interface WrittenStamp {
  readonly id: string;
  readonly etag: string;
  readonly revision: number;
}

/** Records of the caller that change in the transactions of the writes, such as the ledger of a job. */
export interface WriteLedger {
  readonly keys: readonly KeyRequest[];
  /** `null`: the transaction must not write, because another execution of the job has advanced the ledger. */
  readonly writes: (
    found: LoadedRecords,
    moved: LedgerMove,
    stamps: readonly WrittenStamp[],
  ) => readonly Write[] | null;
}

/** The writes of a plan in one transaction. */
interface LedgerMove {
  readonly from: number;
  /** The index of the first remaining write. */
  readonly next: number;
  /** The indexes of skipped removals. */
  readonly spared: readonly number[];
}

export interface WriteOptions {
  readonly ledger?: WriteLedger;
  /** Records that must be unchanged since the plan, if it fits into one transaction. */
  readonly kept?: readonly KeptRecord[];
  /** The end of an earlier try of the same plan. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

export interface WrittenPlan {
  /** Whether one transaction wrote the whole plan: readers then saw all of it or none. */
  readonly whole: boolean;
  readonly stamps: readonly WrittenStamp[];
  /** The indexes of skipped removals: their records have changed since the plan. */
  readonly spared: readonly number[];
}

/**
 * Writes a plan in one transaction if it fits, otherwise in several, in the order of the writes. `null`: a record of a plan that fits
 * has changed since the plan, the name points to another collection, or the ledger has advanced; nothing more was written, and the
 * caller plans again. A started plan of several transactions is not planned again: each removal checks its own record, and a chunk
 * overwrites the current record, as a new plan would do.
 */
export async function writePlan(
  parts: RecordParts,
  space: string,
  collection: StoredCollection,
  writes: readonly PlanWrite[],
  options: WriteOptions = {},
): Promise<WrittenPlan | null> {
  const opened = { store: await parts.store(), format: await parts.entries.written() };
  const writer = new PlanWriter(parts, opened, space, collection, options);
  const stamps: WrittenStamp[] = [];
  const spared: number[] = [];
  let next = options.from ?? 0;
  for (let isFirst = next === 0; next < writes.length; isFirst = false) {
    options.signal?.throwIfAborted();
    const batch = await writer.fitting(writes, next);
    const isWhole = isFirst && batch.length === writes.length;
    const written = await writer.write(batch, next, isWhole);
    if (written === null) return null;
    if (isWhole && written.count === batch.length) return { whole: true, stamps: written.stamps, spared: [] };
    stamps.push(...written.stamps);
    spared.push(...written.spared);
    next += written.count;
  }
  return { whole: writes.length === 0, stamps, spared };
}

interface ReadyWrite extends Pick<PlanWrite, 'key' | 'seen'> {
  readonly input: FindableRecord | null;
}

interface Written extends Omit<WrittenPlan, 'whole'> {
  readonly count: number;
}

class PlanWriter {
  readonly #parts: RecordParts;
  readonly #store: RecordStore;
  readonly #format: EntryFormat;
  readonly #space: string;
  readonly #collection: StoredCollection;
  readonly #ledger: WriteLedger | undefined;
  readonly #kept: readonly KeptRecord[];

  constructor(
    parts: RecordParts,
    { store, format }: { readonly store: RecordStore; readonly format: EntryFormat },
    space: string,
    collection: StoredCollection,
    { ledger, kept = [] }: WriteOptions,
  ) {
    this.#parts = parts;
    this.#store = store;
    this.#format = format;
    this.#space = space;
    this.#collection = collection;
    this.#ledger = ledger;
    // With more kept records, another call may still change one between the plan and its commit.
    this.#kept = kept.length <= KEPT_MAX ? kept : [];
  }

  /** The writes from `from` on that fit into one transaction by their estimated size; at least one. */
  async fitting(writes: readonly PlanWrite[], from: number): Promise<readonly ReadyWrite[]> {
    const { policy } = this.#collection;
    const turns = this.#parts.world.turns.of(this.#space);
    const scale = scaleOf(this.#store);
    const ready: ReadyWrite[] = [];
    let weight = 0;
    for (const { key, seen, text } of writes.slice(from, from + WRITES_MAX)) {
      const input =
        text === null ? null : await inTurns(findableText(this.#collection, text(), this.#format), turns);
      weight += input === null ? 0 : weightOf(input, policy, scale);
      if (ready.length > 0 && weight > WEIGHT_MAX) break;
      ready.push({ key, seen, input });
      if (turns.due()) await turns.next();
    }
    return ready;
  }

  /** Retries with fewer writes if the store finds the transaction too large. A whole plan is written whole or planned again. */
  async write(batch: readonly ReadyWrite[], from: number, isWhole: boolean): Promise<Written | null> {
    for (let count = batch.length; ; count = Math.ceil(count / 2)) {
      try {
        const some = batch.slice(0, count);
        return await this.#transact(some, from, isWhole && count === batch.length);
      } catch (error) {
        const tooLarge = error instanceof StoreError && error.failure === 'too_large';
        if (!tooLarge || count <= 1) throw error;
      }
    }
  }

  #transact(batch: readonly ReadyWrite[], from: number, isWhole: boolean): Promise<Written | null> {
    const { clock } = this.#parts.world;
    const arrivedAt = clock.now();
    const { incarnation, name } = this.#collection;
    const ledger = this.#ledger;
    const watched = isWhole ? [...batch, ...this.#kept] : batch;
    const own = watched.map(({ key }) => ({ key: recordKey(incarnation, key) }));
    const request = { keys: [...own, ...(ledger?.keys ?? [])] };
    const into = { name, version: this.#format.version };
    return writeBeside(this.#store, this.#space, into, request, (found): Decision<Written | null> => {
      if (movedFrom(this.#collection, found) !== null) return { writes: [], result: null };
      if (isWhole && !watched.every((each) => this.#isAsSeen(found, each)))
        return { writes: [], result: null };
      const { writes, stamps, passed } = this.#decide(found, batch, decisionTime(clock, arrivedAt));
      const next = from + batch.length;
      const spared = passed.map((at) => from + at);
      const moved = ledger === undefined ? [] : ledger.writes(found, { from, next, spared }, stamps);
      if (moved === null) return { writes: [], result: null };
      const isRequest = ledger === undefined;
      const grows = batch.some(({ input }) => input !== null) && (isRequest ? 'request' : 'job');
      return { writes: [...writes, ...moved], result: { count: batch.length, stamps, spared }, grows };
    });
  }

  #isAsSeen(found: LoadedRecords, { key, seen }: KeptRecord): boolean {
    const record = found.get(recordKey(this.#collection.incarnation, key));
    return (record === undefined ? null : stampIn(record.head).revision) === seen;
  }

  #decide(found: LoadedRecords, batch: readonly ReadyWrite[], now: number) {
    const writes: Write[] = [];
    const stamps: WrittenStamp[] = [];
    const passed: number[] = [];
    for (const [at, { key, seen, input }] of batch.entries()) {
      const place = recordKey(this.#collection.incarnation, key);
      const before = found.get(place);
      if (input === null) {
        // A record that has changed since the plan belongs to another writer now.
        if (before !== undefined && this.#isAsSeen(found, { key, seen })) writes.push({ remove: place });
        else passed.push(at);
        continue;
      }
      const stamp = decideUpsert(
        before === undefined ? null : stampIn(before.head),
        null,
        input.createdAt,
        now,
      );
      writes.push({ put: recordData(this.#collection, input, stamp) });
      stamps.push({ id: key.id, etag: stamp.etag, revision: stamp.revision });
    }
    return { writes, stamps, passed };
  }
}
