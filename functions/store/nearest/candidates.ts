/** The number of candidates at which those that can no longer be among the best are dropped. */
const SPARE = 8192;

export interface CandidateRows {
  readonly positions: readonly number[];
  readonly uppers: readonly number[];
  readonly scores: readonly number[];
}

/**
 * The rows that may be among the best, by the bounds of their scores: those whose upper bound reaches the lowest of the
 * best lower bounds.
 */
export class NearestCandidates {
  readonly #limit: number;
  /** A heap of the best lower bounds, the least at its root. */
  readonly #lowers: number[] = [];
  readonly #holders: number[] = [];
  #positions: number[] = [];
  #scores: number[] = [];
  #uppers: number[] = [];
  #kept = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The least score that the worst of the best has; `-Infinity` while there are fewer rows. */
  get worst(): number {
    return this.#lowers.length < this.#limit ? Number.NEGATIVE_INFINITY : this.#lowers[0]!;
  }

  /** The rows with the best lower bounds. */
  get holders(): readonly number[] {
    return this.#holders;
  }

  offer(position: number, lower: number, upper: number): void {
    if (upper < this.worst) return;
    this.#positions.push(position);
    this.#scores.push(lower === upper ? upper : Number.NaN);
    this.#uppers.push(upper);
    if (this.#lowers.length < this.#limit) this.#rise(position, lower);
    else if (lower > this.worst) this.#replaceRoot(position, lower);
    if (this.#positions.length > 2 * this.#kept + SPARE) this.#drop();
  }

  /** Every candidate, with its score and its upper bound in the same place. A score is NaN where the bounds do not settle it. */
  rows(): CandidateRows {
    this.#drop();
    return { positions: this.#positions, uppers: this.#uppers, scores: this.#scores };
  }

  #drop(): void {
    const { worst } = this;
    let kept = 0;
    for (let at = 0; at < this.#positions.length; at += 1) {
      if (this.#uppers[at]! < worst) continue;
      this.#positions[kept] = this.#positions[at]!;
      this.#scores[kept] = this.#scores[at]!;
      this.#uppers[kept] = this.#uppers[at]!;
      kept += 1;
    }
    this.#positions.length = kept;
    this.#scores.length = kept;
    this.#uppers.length = kept;
    this.#kept = kept;
  }

  #rise(position: number, lower: number): void {
    let at = this.#lowers.length;
    for (; at > 0; ) {
      const above = (at - 1) >> 1;
      if (this.#lowers[above]! <= lower) break;
      this.#set(at, this.#holders[above]!, this.#lowers[above]!);
      at = above;
    }
    this.#set(at, position, lower);
  }

  #replaceRoot(position: number, lower: number): void {
    const count = this.#lowers.length;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= count) break;
      if (below + 1 < count && this.#lowers[below + 1]! < this.#lowers[below]!) below += 1;
      if (this.#lowers[below]! >= lower) break;
      this.#set(at, this.#holders[below]!, this.#lowers[below]!);
      at = below;
    }
    this.#set(at, position, lower);
  }

  #set(at: number, position: number, lower: number): void {
    this.#lowers[at] = lower;
    this.#holders[at] = position;
  }
}
