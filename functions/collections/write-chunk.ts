import { refusalWords, ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { inTurns, type Turns } from '../kernel/turns.ts';
import { decisionTime } from '../kernel/world.ts';
import {
  type Decision,
  type KeyRequest,
  type LoadedRecords,
  type RecordData,
  type RecordStore,
  StoreError,
  type Write,
} from '../store/port.ts';
import { callOn, Moved, movedFrom } from './collection-call.ts';
import type { RecordParts } from './parts.ts';
import type { BatchOutcome } from './rules/batch.ts';
import type { PartitionedKey } from './rules/record-key.ts';
import { decideUpsert, type WritePrecondition } from './rules/record-write.ts';
import type { EntryFormat } from './search/formats.ts';
import { recordKey, spaceScope } from './store-collections.ts';
import type { StoredCollection } from './stored-collection.ts';
import { stampIn } from './stored-content.ts';
import { type FindableRecord, findableText, recordData } from './stored-record.ts';
import { writeBeside } from './write-beside.ts';
import { scaleOf, WEIGHT_MAX, weightOf } from './write-weight.ts';

const ITEMS_MAX = 100;

/** The target of a chunk: the collection of a name, or an incarnation that no name points at yet. */
export interface ChunkTarget {
  readonly name: string;
  readonly loading?: Pick<StoredCollection, 'incarnation' | 'policy'>;
}

export interface ChunkItem {
  /** The record as its JSON text. */
  readonly text: string;
  readonly precondition?: WritePrecondition | null;
}

export interface ItemOutcome {
  /** The members of the key that the item gives. */
  readonly key: Partial<PartitionedKey>;
  readonly outcome: BatchOutcome;
}

export interface ChunkOptions {
  readonly continueOnError: boolean;
  readonly ledger?: ChunkLedger;
}

/** Records of the caller that are read and written in the transaction of the chunk. */
export interface ChunkLedger {
  readonly keys: readonly KeyRequest[];
  /** The outcomes that an earlier try of the chunk stored; the chunk then writes nothing. */
  readonly recorded: (found: LoadedRecords) => readonly ItemOutcome[] | null;
  /** `version`: the version of the search entries of the chunk. */
  readonly writes: (
    found: LoadedRecords,
    outcomes: readonly ItemOutcome[],
    version: number,
  ) => readonly Write[];
}

/**
 * Writes the first of `items` in one transaction, as many as fit; each has its own outcome. Returns the outcomes of the tried items,
 * at least one. A failed item ends the chunk unless `continueOnError`.
 */
export async function writeChunk(
  parts: RecordParts,
  space: string,
  { name, loading }: ChunkTarget,
  items: readonly ChunkItem[],
  options: ChunkOptions,
): Promise<readonly ItemOutcome[]> {
  const chunk = { parts, space, options, store: await parts.store(), format: await parts.entries.written() };
  if (loading === undefined)
    return callOn(parts, space, name, (believed) => writeSome({ ...chunk, into: believed, believed }, items));
  const outcomes = await writeSome({ ...chunk, into: loading, believed: null }, items);
  if (outcomes instanceof Moved) throw new TypeError('a chunk that looks at no name has found it moved');
  return outcomes;
}

interface Chunk {
  readonly parts: RecordParts;
  readonly store: RecordStore;
  readonly space: string;
  readonly options: ChunkOptions;
  readonly format: EntryFormat;
  readonly into: Pick<StoredCollection, 'incarnation' | 'policy'>;
  /** The collection that the process remembers for the name; `null` if the chunk uses no name. */
  readonly believed: StoredCollection | null;
}

/** Tries fewer items if the store refuses the transaction as too large. */
async function writeSome(chunk: Chunk, items: readonly ChunkItem[]): Promise<readonly ItemOutcome[] | Moved> {
  const read = await readItems(chunk, items);
  for (let count = read.length; ; count = Math.ceil(count / 2)) {
    try {
      return await writeItems(chunk, read.slice(0, count));
    } catch (error) {
      const tooLarge = error instanceof StoreError && error.failure === 'too_large';
      if (!tooLarge || count <= 1) throw error;
    }
  }
}

type ReadItem = { readonly precondition: WritePrecondition | null } & (
  | { readonly input: FindableRecord }
  | { readonly refused: ItemOutcome }
);

/** The items that fit into one transaction by their weight. Other calls run between two items and within a long one. */
async function readItems(
  { parts: { world }, space, store, into, options, format }: Chunk,
  items: readonly ChunkItem[],
): Promise<ReadItem[]> {
  const read: ReadItem[] = [];
  const turns = world.turns.of(space);
  const scale = scaleOf(store);
  let weight = 0;
  for (const { text, precondition = null } of items.slice(0, ITEMS_MAX)) {
    if (turns.due()) await turns.next();
    const item = { precondition, ...(await readItem(text, into, format, turns)) };
    weight += 'input' in item ? weightOf(item.input, into.policy, scale) : 0;
    if (read.length > 0 && weight > WEIGHT_MAX) break;
    read.push(item);
    if ('refused' in item && !options.continueOnError) break;
  }
  return read;
}

async function readItem(
  text: string,
  into: Chunk['into'],
  format: EntryFormat,
  turns: Turns,
): Promise<{ readonly input: FindableRecord } | { readonly refused: ItemOutcome }> {
  try {
    return { input: await inTurns(findableText(into, text, format), turns) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { refused: { key: namedIn(text), outcome: { error: wordsOf(error) } } };
  }
}

async function writeItems(
  { parts: { world }, store, space, options, into, believed, format: { version } }: Chunk,
  items: readonly ReadItem[],
): Promise<readonly ItemOutcome[] | Moved> {
  const { ledger, continueOnError } = options;
  const arrivedAt = world.clock.now();
  const keys = new Map<string, KeyRequest>();
  for (const item of items) {
    if (!('input' in item)) continue;
    const key = recordKey(into.incarnation, item.input.key);
    keys.set(key.id, { key });
  }
  const request = { keys: [...keys.values(), ...(ledger?.keys ?? [])] };
  return believed === null
    ? store.transact(spaceScope(space), request, decide)
    : writeBeside(store, space, { name: believed.name, version }, request, decide);

  function decide(found: LoadedRecords): Decision<readonly ItemOutcome[] | Moved> {
    const moved = believed === null ? null : movedFrom(believed, found);
    if (moved !== null) return { writes: [], result: moved };
    const recorded = ledger?.recorded(found) ?? null;
    if (recorded !== null) return { writes: [], result: recorded };
    const { writes, result } = decideItems(items, {
      found,
      into,
      continueOnError,
      now: decisionTime(world.clock, arrivedAt),
    });
    return {
      writes: [...writes, ...(ledger?.writes(found, result, version) ?? [])],
      result,
      grows: ledger === undefined ? 'request' : 'job',
    };
  }
}

interface Deciding {
  readonly found: LoadedRecords;
  readonly into: Chunk['into'];
  readonly continueOnError: boolean;
  readonly now: number;
}

/** One item after the other: a later one of the same key sees the earlier one. */
function decideItems(
  items: readonly ReadItem[],
  { found, into, continueOnError, now }: Deciding,
): Decision<readonly ItemOutcome[]> {
  const written = new Map<string, RecordData>();
  const outcomes: ItemOutcome[] = [];
  for (const item of items) {
    const outcome = 'refused' in item ? item.refused : decideItem(item.input, item.precondition);
    outcomes.push(outcome);
    if ('error' in outcome.outcome && !continueOnError) break;
  }
  return { writes: [...written.values()].map((put) => ({ put })), result: outcomes };

  function decideItem(input: FindableRecord, precondition: WritePrecondition | null): ItemOutcome {
    const key = recordKey(into.incarnation, input.key);
    const before = written.get(key.id) ?? found.get(key);
    try {
      const stored = before === undefined ? null : stampIn(before.head);
      const stamp = decideUpsert(stored, precondition, input.createdAt, now);
      written.set(key.id, recordData(into, input, stamp));
      return { key: input.key, outcome: { etag: stamp.etag, revision: stamp.revision } };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { key: input.key, outcome: { error: wordsOf(error) } };
    }
  }
}

/** The refusal of an item in one line. */
function wordsOf(error: ServiceError): string {
  return refusalWords(error, 'The record');
}

/** The members of the key that a refused item gives. */
function namedIn(text: string): Partial<PartitionedKey> {
  const { id, partitionKey } = (parseJson(text) ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof partitionKey === 'string' ? { partitionKey } : {}),
  };
}
