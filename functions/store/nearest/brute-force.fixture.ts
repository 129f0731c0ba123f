import type { NearestMatch, NearestRequest } from '../search.ts';
import { similarity } from '../similarity.ts';
import type { ModelRows } from './slot-model.fixture.ts';

export function request(values: Float32Array, more: Partial<NearestRequest> = {}): NearestRequest {
  return {
    by: 'nearest',
    collection: 'records',
    group: 'g',
    slot: `${values.length}a`,
    metric: 'cosine',
    values,
    limit: 3,
    readsMax: 1_000_000,
    ...more,
  };
}

/** The nearest by a plain sort over all vectors of a moment, or among some records. */
export function bruteForce(
  rows: ModelRows,
  { metric, values, limit }: NearestRequest,
  among?: readonly string[],
): NearestMatch[] {
  const scored = [...rows.content].flatMap(([id, { values: bytes, listingId }]) =>
    bytes === null || among?.includes(id) === false
      ? []
      : [
          {
            id,
            score: similarity(metric, new Float32Array(new Uint8Array(bytes).buffer), values),
            listingId,
          },
        ],
  );
  return scored
    .sort(
      (one, other) =>
        other.score - one.score || Buffer.compare(Buffer.from(one.listingId), Buffer.from(other.listingId)),
    )
    .slice(0, limit)
    .map(({ id, score }) => ({ id, score }));
}

/** A small generator of numbers, the same in each run. */
export function randomOf(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
