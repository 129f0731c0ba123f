import { ServiceError } from '../kernel/errors.ts';
import type { ReadLane } from './read-lanes.ts';

/**
 * Text that the conditions of one call may search by `contains`: some seconds of work at worst.
 * @testonly
 */
export const SEARCHED_CHARACTERS_MAX = 1024 * 1024 * 1024;

type BudgetCode = 'query_budget_exceeded' | 'search_budget_exceeded';

/** Counts what one call reads. A call that needs more is refused: it never answers with a part in silence. */
export class ReadBudget {
  readonly #max: number;
  readonly #advice: string;
  readonly #lane: ReadLane;
  readonly #code: BudgetCode;
  #left: number;
  #kept: () => number = () => 0;
  #searchable = SEARCHED_CHARACTERS_MAX;

  /** `advice` is what the caller can do about it, `lane` the place of the call, `code` that of the refusal. */
  constructor(max: number, advice: string, lane: ReadLane, code: BudgetCode = 'query_budget_exceeded') {
    this.#max = max;
    this.#left = max;
    this.#advice = advice;
    this.#lane = lane;
    this.#code = code;
  }

  /** How many records may still be read; throws where it is none. */
  room(): number {
    const room = this.#left - this.#kept();
    if (room <= 0) throw this.exceeded();
    return room;
  }

  /** Keeps records for later: there is no room for them until the next call. */
  keep(records: () => number): void {
    this.#kept = records;
  }

  spend(records: number, characters: number): void {
    this.#left -= records;
    this.#lane.passed(records, characters);
  }

  /** Counts text that a condition searches. */
  search(characters: number): void {
    this.#searchable -= characters;
    if (this.#searchable >= 0) return;
    const detail = `The call needs to search more than ${SEARCHED_CHARACTERS_MAX} characters of text by contains. Use fewer of these conditions, or name partition keys.`;
    throw new ServiceError(this.#code, detail);
  }

  exceeded(): ServiceError {
    const detail = `The call needs to read more than ${this.#max} records. ${this.#advice}`;
    return new ServiceError(this.#code, detail);
  }
}
