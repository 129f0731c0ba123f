import { ServiceError } from '../kernel/errors.ts';
import type { ReadLane } from './read-lanes.ts';

/**
 * The most characters that the `contains` conditions of one call may search: at worst some seconds of work.
 * @testonly
 */
export const SEARCHED_CHARACTERS_MAX = 1024 * 1024 * 1024;

type BudgetCode = 'query_budget_exceeded' | 'search_budget_exceeded';

/** Counts the reads of one call. A call that needs more is refused, so that it never silently answers a part. */
export class ReadBudget {
  readonly #max: number;
  readonly #advice: string;
  readonly #lane: ReadLane;
  readonly #code: BudgetCode;
  #left: number;
  #kept: () => number = () => 0;
  #searchable = SEARCHED_CHARACTERS_MAX;

  /** `advice` is a hint for the caller, `lane` the place of the call, `code` the code of the refusal. */
  constructor(max: number, advice: string, lane: ReadLane, code: BudgetCode = 'query_budget_exceeded') {
    this.#max = max;
    this.#left = max;
    this.#advice = advice;
    this.#lane = lane;
    this.#code = code;
  }

  /** How many records the call may still read; throws if there are none. */
  room(): number {
    const room = this.#left - this.#kept();
    if (room <= 0) throw this.exceeded();
    return room;
  }

  /** Reserves reads for records that are read later; the next call replaces the reservation. */
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
