import type { Metric, NearestRequest } from '../search.ts';
import { norm, rounded } from '../similarity.ts';

/** A record that Firestore found, with its rank value. */
export interface ProvenMatch {
  readonly values: Float32Array;
  /** The dot product of cosine (of vectors at length 1) and dotProduct, the distance of euclidean. */
  readonly rank: number;
}

/**
 * Proves that the nearest records are all among those that Firestore ranked first. Firestore does not document the
 * precision and order of its sums. The bound holds with a margin for float32 sums in any order, also for a distance derived
 * from lengths and a dot product; a rank beyond it shows that Firestore calculates otherwise.
 */
export class NearestProof {
  readonly #metric: Metric;
  readonly #query: Float32Array;
  readonly #queryNorm: number;
  readonly #error: number;
  readonly #holds: boolean;

  /** `longest`: the length of the longest vector of the slot. */
  constructor({ metric, values }: Pick<NearestRequest, 'metric' | 'values'>, longest: number) {
    this.#metric = metric;
    this.#query = values;
    this.#queryNorm = norm(values);
    const lengths = this.#lengths(longest);
    this.#error = (values.length + 16) * 2 ** -23 * lengths + SMALLEST;
    this.#holds = lengths < LARGEST;
  }

  #lengths(longest: number): number {
    if (this.#metric === 'cosine') return 1;
    return this.#metric === 'dotProduct' ? this.#queryNorm * longest : (this.#queryNorm + longest) ** 2;
  }

  /** Whether Firestore ranked within the bound. */
  isSound(matches: readonly ProvenMatch[]): boolean {
    if (!this.#holds) return false;
    return matches.every(({ values, rank }) => {
      const [found, exact] = [this.#sum(rank), this.#exactSum(values)];
      return Math.abs(found - exact) <= this.#error;
    });
  }

  /** The highest score of a record that Firestore ranked behind `rank`. */
  ceiling(rank: number): number {
    const sum = this.#sum(rank);
    if (this.#metric !== 'euclidean') return rounded(sum + this.#error);
    return rounded(1 / (1 + Math.sqrt(Math.max(0, sum - this.#error))));
  }

  /** The sum behind a rank: a Euclidean distance is its root. */
  #sum(rank: number): number {
    return this.#metric === 'euclidean' ? rank * rank : rank;
  }

  #exactSum(values: Float32Array): number {
    let sum = 0;
    for (const [index, value] of values.entries()) {
      const asked = this.#query[index] ?? 0;
      sum += this.#metric === 'euclidean' ? (value - asked) ** 2 : value * asked;
    }
    if (this.#metric !== 'cosine') return sum;
    const norms = norm(values) * this.#queryNorm;
    return norms === 0 ? 0 : sum / norms;
  }
}

/** Below it a float32 loses digits. */
const SMALLEST = 2 ** -120;
/** Above it a sum of float32 may overflow. */
const LARGEST = 2 ** 120;
