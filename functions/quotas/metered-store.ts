import {
  type ByteOwner,
  type Decision,
  type LoadedRecords,
  type RecordData,
  type RecordStore,
  type Scope,
  StoreError,
  type Write,
} from '../store/port.ts';
import { type Counted, countedIn, sizeOf, withCount, writtenBy } from '../store/stored-size.ts';
import { type Meter, UnknownUse } from './meter.ts';

/** The most tries of a decision whose owner's use was unknown. */
const TRIES_MAX = 3;

/**
 * Changes a store so that it counts the bytes that each write adds for its owner, within the write's transaction, and refuses a
 * write that exceeds the owner's quota. Reads are unchanged.
 */
export function meteredStore(store: RecordStore, meter: Meter): RecordStore {
  const transact = store.transact.bind(store);
  const claim = store.claim.bind(store);
  const swap = store.swap.bind(store);

  store.transact = async (scope, request, decide) => {
    const scopeOwner = ownerOf(scope);
    let changes: readonly Counted[] = [];
    let asked: Written = { owner: null, written: 0 };
    const result = await knowing(meter, () =>
      transact(scope, request, (found) => {
        const decision = decide(found);
        const owner = scopeOwner ?? decision.owner ?? null;
        const weighed = weigh(decision, found, { scopeOwner, writer: owner });
        changes = weighed.changes;
        const { grows = false } = decision;
        const written = grows === 'request' ? bytesWritten(decision) : 0;
        if (grows !== false && owner !== null)
          meter.admit(owner, { growth: sumOf(changes, owner), written }, grows);
        asked = { owner, written };
        return { ...decision, writes: weighed.writes };
      }),
    );
    if (asked.owner !== null) meter.wrote(asked.owner, asked.written);
    const kind = scope.kind === 'system' ? 'runs' : 'data';
    for (const { owner, bytes } of changes) if (owner !== null) meter.add(owner, kind, bytes);
    return result;
  };

  store.admit = (owner, bytes, by) =>
    knowing(meter, async () => meter.admit(owner, { growth: bytes, written: bytes }, by));

  // A claim changes heads alone, so its bytes are not counted.
  store.claim = (scope, collection, request, decide) =>
    claim(scope, collection, request, (record, offer) => {
      const decided = decide(record, offer);
      const owner = ownerOf(scope);
      return decided && { ...decided, put: withCount(decided.put, countedIn(record, owner), owner) };
    });

  store.swap = async (scope, records, verify) => {
    const owner = ownerOf(scope);
    if (owner === null) return swap(scope, records, verify);
    const { data: before } = await meter.useOf(owner);
    let bytes = 0;
    async function* weighing(limited: ByteOwner): AsyncGenerator<RecordData> {
      for await (const record of records) {
        const size = sizeOf(record) ?? 0;
        bytes += size;
        // The use known at the start of a long restore may be outdated by now.
        await meter.ready(limited);
        meter.admit(limited, { growth: bytes - before, written: 0 }, 'job');
        yield withCount(record, { bytes: size, owner: limited }, limited);
      }
    }
    await swap(scope, weighing(owner), verify);
    meter.add(owner, 'data', bytes - before);
  };
  return store;
}

/**
 * A decision depends on the use of its owner, and only the decision shows the owner: when the use is unknown, it is
 * read and the decision is made again.
 */
async function knowing<R>(meter: Meter, act: () => Promise<R>): Promise<R> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnknownUse)) throw error;
      await meter.ready(error.owner);
    }
  }
  throw new StoreError('contention', 'the use of an owner gets old before a decision is made');
}

interface Written {
  readonly owner: ByteOwner | null;
  readonly written: number;
}

interface Owners {
  readonly scopeOwner: ByteOwner | null;
  readonly writer: ByteOwner | null;
}

/** The writes with their counts, and the change: the new count of each record minus its previous one. */
function weigh<R>(
  { writes }: Decision<R>,
  found: LoadedRecords,
  { scopeOwner, writer }: Owners,
): { readonly writes: readonly Write[]; readonly changes: readonly Counted[] } {
  const changes: Counted[] = [];
  const all = writes.map((write): Write => {
    const before = countedIn(found.get('put' in write ? write.put.key : write.remove), scopeOwner);
    if (before.owner !== null) changes.push({ owner: before.owner, bytes: -before.bytes });
    if (!('put' in write)) return write;
    const after = { bytes: sizeOf(write.put) ?? before.bytes, owner: scopeOwner ?? before.owner ?? writer };
    if (after.owner !== null) changes.push(after);
    return { put: withCount(write.put, after, scopeOwner) };
  });
  return { writes: all, changes };
}

function sumOf(changes: readonly Counted[], { kind, name }: ByteOwner): number {
  return changes.reduce(
    (sum, { owner, bytes }) => (owner?.kind === kind && owner.name === name ? sum + bytes : sum),
    0,
  );
}

function bytesWritten<R>({ writes }: Decision<R>): number {
  return writes.reduce((sum, write) => ('put' in write ? sum + writtenBy(write.put) : sum), 0);
}

function ownerOf({ kind, name }: Scope): ByteOwner | null {
  return kind === 'system' ? null : { kind, name };
}
