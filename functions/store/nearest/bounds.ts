import type { Metric } from '../search.ts';
import { rounded } from '../similarity.ts';
import { type QuantizedQuery, quantizeQuery, slackOf } from './quantize.ts';

/**
 * The range of a row's exact score, calculated from the matrix. `cosine` is the product of the whole numbers and
 * scales, and `error` is at least its distance from the product of the unit vectors.
 */
export class Bounds {
  readonly query: QuantizedQuery;
  readonly metric: Metric;
  /** The error of a row is its residual times `factor`, and `term`. */
  readonly factor: number;
  readonly term: number;
  /** The key of a row is `(norm * slope + base) * (cosine + error) - (norm * norm + square) * share`. */
  readonly slope: number;
  readonly base: number;
  readonly square: number;
  readonly share: number;
  readonly #slack: number;

  constructor(metric: Metric, values: Float32Array) {
    this.metric = metric;
    this.query = quantizeQuery(values);
    this.#slack = slackOf(values.length);
    const { norm, residual } = this.query;
    // A query of length 0 has the product 0 with every row.
    this.factor = norm === 0 ? 0 : (1 + residual) * (1 + 2 ** -20);
    this.term = norm === 0 ? 0 : residual * (1 + 2 ** -20) + this.#slack;
    this.slope = { cosine: 0, dotProduct: norm, euclidean: 2 * norm }[metric];
    this.base = metric === 'cosine' ? 1 : 0;
    this.square = norm * norm;
    this.share = metric === 'euclidean' ? 1 - this.#slack : 0;
  }

  /** The error of a row with this residual. */
  error(residual: number): number {
    return residual * this.factor + this.term;
  }

  /** The exact score is at least this. */
  lower(cosine: number, error: number, norm: number): number {
    if (this.metric === 'cosine') return rounded(cosine - error);
    const norms = norm * this.query.norm;
    if (this.metric === 'dotProduct') return rounded(norms * (cosine - error));
    const square = (norm * norm + this.square) * (1 + this.#slack) - 2 * norms * (cosine - error);
    const distance = Math.sqrt(Math.max(0, square)) * (1 + this.#slack);
    return rounded((1 / (1 + distance)) * (1 - this.#slack));
  }

  /** The exact score is at most this. */
  upper(cosine: number, error: number, norm: number): number {
    if (this.metric === 'cosine') return rounded(cosine + error);
    if (this.metric === 'dotProduct') return rounded(norm * this.query.norm * (cosine + error));
    const distance = Math.sqrt(this.#leastSquare(cosine, error, norm)) * (1 - this.#slack);
    return rounded((1 / (1 + distance)) * (1 + this.#slack));
  }

  /** Rises and falls with the upper bound, at less cost. `NaN` for a removed row. The kernel computes it alike. */
  key(cosine: number, error: number, norm: number): number {
    return (norm * this.slope + this.base) * (cosine + error) - (norm * norm + this.square) * this.share;
  }

  /** A row whose key is below this has an upper bound below the score. */
  leastKey(score: number): number {
    if (this.metric !== 'euclidean') {
      // A double reaches a float32 from half a step below it; the least float32 stands for all below it.
      return score < -3.4e38 ? Number.NEGATIVE_INFINITY : score - Math.abs(score) * 2 ** -23 - 2 ** -148;
    }
    if (score <= 2 ** -100) return Number.NEGATIVE_INFINITY;
    const least = score * (1 - 2 ** -23);
    const distance = Math.max(0, (1 + this.#slack) / least - 1) / (1 - this.#slack);
    return -(distance * distance) * (1 + 2 ** -20);
  }

  #leastSquare(cosine: number, error: number, norm: number): number {
    return Math.max(0, -this.key(cosine, error, norm));
  }
}
