import { compareUtf8 } from '../../kernel/utf8-order.ts';

/** A record that the walk has found and that may be a candidate. */
export interface WalkedRecord {
  readonly orderKey: string;
  /** How many of the walked alternatives it holds. */
  readonly held: number;
}

/**
 * The records that a search collects for each record that it scores. The minimum lets a low limit find the records with the most
 * words in a collection of the usual size; the maximum bounds the records beyond the scored ones.
 */
const FOUND_PER_CANDIDATE = 4;
const FOUND_MIN = 1_000;
const FOUND_BEYOND_MAX = 2_000;

/** The most records that are collected before the best of them are taken. */
export function foundMax(scanLimit: number): number {
  return Math.min(Math.max(FOUND_PER_CANDIDATE * scanLimit, FOUND_MIN), scanLimit + FOUND_BEYOND_MAX);
}

/**
 * Orders the records of a walk as candidates: those that hold the most alternatives first, then by order key. A record is taken as
 * soon as no record that the walk has not reached can come before it.
 */
export class CandidateOrder<Found extends WalkedRecord> {
  readonly #most: number;
  #waiting: Found[] = [];
  #isSorted = true;
  #collected = 0;
  /** The most alternatives that an unreached record can hold: in the rest of the term's records, and after the term. */
  #heldInTerm = Infinity;
  #heldBehind = Infinity;
  /** The greatest order key that the walk of the term has passed. */
  #passed: string | null = null;

  /** `most`: the number of records at which `isFull` holds. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether all waiting records have to be taken. */
  get isFull(): boolean {
    return this.#collected >= this.#most;
  }

  /** The number of further records until it is full. */
  get room(): number {
    return this.#most - this.#collected;
  }

  /** Begins the walk of another term. `held`: alternatives of this term and the later ones; `heldBehind`: of the later ones. */
  begin(held: number, heldBehind: number): void {
    this.#heldInTerm = held;
    this.#heldBehind = heldBehind;
    this.#passed = null;
  }

  /** Adds a record of the term that no earlier term has found. */
  add(found: Found): void {
    // The index may lack terms of a record: cap the count at that of a record whose terms the index has completely.
    const held = Math.min(found.held, this.#heldInTerm);
    this.#waiting.push(held === found.held ? found : { ...found, held });
    this.#isSorted = false;
    this.#collected += 1;
  }

  /** The walk of the term has found all records up to this order key. */
  pass(orderKey: string): void {
    this.#passed = orderKey;
  }

  /** Takes the records before which no other record can come, in their order. */
  take(): readonly Found[] {
    this.#sort();
    const first = this.#waiting.findIndex((found) => !this.#isSettled(found));
    return this.#waiting.splice(0, first < 0 ? this.#waiting.length : first);
  }

  /** Takes all records in their order, and begins a new collection. */
  takeAll(): readonly Found[] {
    this.#sort();
    this.#collected = 0;
    return this.#waiting.splice(0);
  }

  /** Drops the records after the first `count`, and returns them. */
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
