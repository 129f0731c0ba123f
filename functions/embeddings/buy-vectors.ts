import type { TurnRoom } from '../kernel/turn-room.ts';
import { untilAborted } from '../providers/outgoing/until-aborted.ts';
import type { RecordKey, RecordStore } from '../store/port.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { newVectors, type Vectors } from './new-vectors.ts';
import type { PaidFlights } from './paid-flights.ts';
import { keepPaid, readPaid } from './paid-vectors.ts';
import type { VectorRetention } from './retention.ts';
import { embeddingKey } from './store-collections.ts';

export interface Purchase {
  readonly store: RecordStore;
  readonly embedder: Embedder;
  readonly flights: PaidFlights;
  readonly space: string;
  /** Absent: stored vectors are never removed by age. */
  readonly retention?: VectorRetention | undefined;
  /** Called with the error if vectors could not be stored. */
  readonly report?: ((error: unknown) => void) | undefined;
  /** Called after each call of the model, with the number of texts that have their vectors. */
  readonly moved?: ((done: number) => Promise<void>) | undefined;
  readonly turns?: TurnRoom | undefined;
}

/**
 * The vectors of different texts from a paid model. The model is called only for texts whose vector neither the space has stored
 * nor another call of this process has requested. The vectors of an answer are stored before the next call.
 */
export async function buyVectors(
  purchase: Purchase,
  texts: readonly string[],
  call: EmbedCall,
): Promise<Vectors> {
  const { flights, space } = purchase;
  const keys = await keysOf(purchase, texts, call);
  const done = new Map<string, Float32Array>();
  // The flight of another call may fail; then this call requests its texts.
  while (done.size < texts.length) {
    call.signal.throwIfAborted();
    const own = new Map<string, RecordKey>();
    const others: (readonly [string, Promise<Float32Array | null>])[] = [];
    for (const [text, key] of keys) {
      if (done.has(text)) continue;
      const flight = flights.join(nameOf(space, key));
      if (flight === null) own.set(text, key);
      else others.push([text, flight]);
    }
    const land = (text: string, vector: Float32Array | null) => {
      if (vector !== null) done.set(text, vector);
      const key = own.get(text);
      if (key !== undefined) flights.end(nameOf(space, key), vector);
    };
    try {
      if (own.size > 0) await buyOwn(purchase, { own, done, land }, call);
    } finally {
      for (const text of own.keys()) land(text, done.get(text) ?? null);
    }
    for (const [text, flight] of others) {
      const vector = await untilAborted(flight, call.signal);
      if (vector !== null) done.set(text, vector);
    }
  }
  return done;
}

interface OwnTexts {
  readonly own: ReadonlyMap<string, RecordKey>;
  readonly done: ReadonlyMap<string, Float32Array>;
  readonly land: (text: string, vector: Float32Array) => void;
}

async function buyOwn(
  { embedder, report, moved, ...place }: Purchase,
  { own, done, land }: OwnTexts,
  call: EmbedCall,
): Promise<void> {
  const paid = { ...place, dimensions: embedder.dimensions };
  const kept = await readPaid(paid, [...own.values()]);
  for (const [text, key] of own) {
    const vector = kept.get(key.id);
    if (vector !== undefined) land(text, vector);
  }
  const missing = [...own.keys()].filter((text) => !done.has(text));
  await newVectors(embedder, missing, call, async (_, batch) => {
    const vectors = batch.flatMap(([text, vector]) => {
      const key = own.get(text);
      return key === undefined ? [] : [{ key, vector }];
    });
    const keep = () => keepPaid(paid, vectors);
    // The vectors are paid for, so the call answers with them even if the store fails to keep them.
    await keep().catch(() => keep().catch((error: unknown) => report?.(error)));
    for (const [text, vector] of batch) land(text, vector);
    await moved?.(done.size);
  });
}

/** The hash of a long text takes a fraction of a millisecond, and a request may have many texts. */
async function keysOf(
  { embedder, space, turns }: Purchase,
  texts: readonly string[],
  { purpose }: EmbedCall,
): Promise<ReadonlyMap<string, RecordKey>> {
  const keys = new Map<string, RecordKey>();
  for (const text of texts) {
    keys.set(text, embeddingKey(embedder, purpose, text));
    await turns?.pause(space);
  }
  return keys;
}

function nameOf(space: string, { id }: RecordKey): string {
  return `${id} ${space}`;
}
