import { compareUtf8 } from '../../kernel/utf8-order.ts';

/** A record that the walk has found and that may be a candidate. */
export interface WalkedRecord {
  readonly orderKey: string;
  /** How many of the walked alternatives it holds. */
  readonly held: number;
}

/**
 * A search collects so many records for each that it scores: at least so many that a low limit misses no record with more words
 * in a collection of the usual size, and no more than so many beyond those that it scores.
 */
const FOUND_PER_CANDIDATE = 4;
const FOUND_MIN = 1_000;
const FOUND_BEYOND_MAX = 2_000;

/** Records that are collected, at the most, before the best of them are taken. */
export function foundMax(scanLimit: number): number {
  return Math.min(Math.max(FOUND_PER_CANDIDATE * scanLimit, FOUND_MIN), scanLimit + FOUND_BEYOND_MAX);
}

/**
 * Brings the records of a walk into the order of candidates: those that hold the most alternatives first, then by order key. A
 * record is taken as soon as no record that the walk has not reached can stand before it.
 */
export class CandidateOrder<Found extends WalkedRecord> {
  readonly #most: number;
  #waiting: Found[] = [];
  #isSorted = true;
  #collected = 0;
  /** What a record that the walk has not reached holds at the most: in the rest of the term's records, and behind the term. */
  #heldInTerm = Infinity;
  #heldBehind = Infinity;
  /** The walk of the term has passed all order keys up to this. */
  #passed: string | null = null;

  /** `most`: records that are collected until `isFull`. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether all that wait have to be taken. */
  get isFull(): boolean {
    return this.#collected >= this.#most;
  }

  /** Records until it is full. */
  get room(): number {
    return this.#most - this.#collected;
  }

  /** The walk of another term begins. `held`: alternatives of this term and the later ones, `heldBehind`: of the later ones. */
  begin(held: number, heldBehind: number): void {
    this.#heldInTerm = held;
    this.#heldBehind = heldBehind;
    this.#passed = null;
  }

  /** Adds a record of the term that no earlier term has led to. */
  add(found: Found): void {
    // A record may lack terms in the index: it stands where a record that the index knows fully could stand.
    const held = Math.min(found.held, this.#heldInTerm);
    this.#waiting.push(held === found.held ? found : { ...found, held });
    this.#isSorted = false;
    this.#collected += 1;
  }

  /** The walk of the term has found all records up to this order key. */
  pass(orderKey: string): void {
    this.#passed = orderKey;
  }

  /** Takes those before which no other record can stand, in their order. */
  take(): readonly Found[] {
    this.#sort();
    const first = this.#waiting.findIndex((found) => !this.#isSettled(found));
    return this.#waiting.splice(0, first < 0 ? this.#waiting.length : first);
  }

  /** Takes all in their order, and begins to collect anew. */
  takeAll(): readonly Found[] {
    this.#sort();
    this.#collected = 0;
    return this.#waiting.splice(0);
  }

  /** Forgets those behind the first `count`. Returns them. */
  keep(count: number): readonly Found[] {
    if (this.#waiting.length <= count) return [];
    this.#sort();
    return this.#waiting.splice(count);
  }

  #isSettled({ held, orderKey }: Found): boolean {
    if (held > this.#heldInTerm) return true;
    const isFirst = held === this.#heldInTerm && held > this.#heldBehind;
    return isFirst && this.#passed !== null && compareUtf8(orderKey, this.#passed) <= 0;
  }

  #sort(): void {
    if (this.#isSorted) return;
    this.#waiting.sort((a, b) => b.held - a.held || compareUtf8(a.orderKey, b.orderKey));
    this.#isSorted = true;
  }
}
