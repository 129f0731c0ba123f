import type { TurnRoom } from '../kernel/turn-room.ts';
import type { RecordStore } from '../store/port.ts';
import { buyVectors, type Purchase } from './buy-vectors.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { newVectors, type Vectors } from './new-vectors.ts';
import { PaidFlights } from './paid-flights.ts';

export interface EmbeddingParts {
  readonly store: () => Promise<RecordStore>;
  readonly embedder: Embedder;
  readonly flights: PaidFlights;
  readonly paid?: Pick<Purchase, 'retention' | 'report'>;
  /** Lets the calls take turns with other long work; absent: they take no turns. */
  readonly turns?: TurnRoom;
}

/** The parts with the flights of this process. */
export function createEmbeddingParts(own: Omit<EmbeddingParts, 'flights'>): EmbeddingParts {
  return { ...own, flights: new PaidFlights() };
}

export interface TextVectorsCall extends Omit<EmbedCall, 'space' | 'admit'> {
  readonly space: string;
  /** Called after each call of the model, with the number of different texts that have their vectors. */
  readonly moved?: ((done: number) => Promise<void>) | undefined;
}

/** The vectors of different prepared texts. Vectors of paid models are stored, so that no text is paid for twice. */
export async function textVectors(
  { store, embedder, flights, paid, turns }: EmbeddingParts,
  texts: readonly string[],
  { moved, ...call }: TextVectorsCall,
): Promise<Vectors> {
  const { space } = call;
  return embedder.isPaid
    ? buyVectors({ ...paid, store: await store(), embedder, flights, space, moved, turns }, texts, call)
    : newVectors(embedder, texts, call, ({ size }) => moved?.(size));
}
