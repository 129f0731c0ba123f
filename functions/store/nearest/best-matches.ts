import type { NearestMatch } from '../search.ts';
import { idsMax, type VectorRows } from './vector-rows.ts';

/** Matches beyond the limit that are held before those that cannot be among the best are dropped. */
const SPARE = 4096;

interface Candidate extends NearestMatch {
  /** Read only where scores are equal. */
  listingId?: Buffer;
}

/** Keeps the best of many exact scores, in bounded memory also where all are equal. */
export class BestMatches {
  readonly #limit: number;
  #held: Candidate[] = [];
  #worst = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The score that a further match must reach; `-Infinity` while there are fewer than the limit. */
  get worst(): number {
    return this.#worst;
  }

  offer(id: string, score: number): void {
    if (score >= this.#worst) this.#held.push({ id, score });
  }

  /** To be called between pages of offers. */
  async prune(rows: VectorRows): Promise<void> {
    this.#drop();
    if (this.#held.length > this.#limit + SPARE) await this.#keepBest(rows);
  }

  /** Drops rows that score below the worst of the best. */
  #drop(): void {
    if (this.#held.length < this.#limit || this.#limit === 0) return;
    const scores = new Float64Array(this.#held.length);
    for (let at = 0; at < scores.length; at += 1) scores[at] = this.#held[at]!.score;
    scores.sort();
    this.#worst = scores[scores.length - this.#limit]!;
    this.#held = this.#held.filter(({ score }) => score >= this.#worst);
  }

  /** The best, by score downwards and then by listing id. */
  async result(rows: VectorRows): Promise<NearestMatch[]> {
    this.#drop();
    await this.#keepBest(rows);
    return this.#held.map(({ id, score }) => ({ id, score }));
  }

  async #keepBest(rows: VectorRows): Promise<void> {
    this.#held.sort((left, right) => right.score - left.score);
    const equal = this.#held.filter(
      ({ score, listingId }, at) =>
        listingId === undefined &&
        (score === this.#held[at - 1]?.score || score === this.#held[at + 1]?.score),
    );
    for (let from = 0; from < equal.length; from += idsMax) {
      const part = equal.slice(from, from + idsMax);
      const found = await rows.listingIds(part.map(({ id }) => id));
      for (const each of part) each.listingId = Buffer.from(found.get(each.id) ?? '');
    }
    this.#held.sort(byRank);
    this.#held.length = Math.min(this.#held.length, this.#limit);
  }
}

function byRank(left: Candidate, right: Candidate): number {
  if (left.score !== right.score) return right.score - left.score;
  const order = Buffer.compare(left.listingId ?? Buffer.of(), right.listingId ?? Buffer.of());
  if (order !== 0) return order;
  return left.id < right.id ? -1 : 1;
}
