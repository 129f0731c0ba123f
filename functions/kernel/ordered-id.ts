import { hash } from 'node:crypto';
import type { Clock, RandomSource } from './world.ts';

/**
 * Ordered ids: positive 63-bit integers as 20 digits, so that their texts sort as they were made. From the top: 50 bits
 * of microseconds since the epoch, 9 bits of node, 4 bits of counter.
 *
 * An id does not fit a double. It is handled as two halves, the microseconds and the 13 bits below them, which is several
 * times as fast as `BigInt`; a text is written and read as two groups of ten digits.
 */

const EPOCH_MS = 1_666_777_777_000;
const LOW_BITS = 2 ** 13;
const MICROS_MAX = 2 ** 50 - 1;
const COUNTER_MAX = 15;
const NODES = 512;
/** Reserved: with the highest counter its ids would equal the ends of ranges. */
const NODE_RESERVED = NODES - 1;

const ZERO = '0'.repeat(20);
const LARGEST = '09223372036854775807';
/** The number of values of a group of ten digits. */
const GROUP = 1e10;

export interface OrderedIdOptions {
  readonly clock: Clock;
  /** 0 to 510; see `nodeOf`. */
  readonly node: number;
  /**
   * The microsecond of the first id inside its millisecond, which the clock does not give. Without it, two instances with
   * the same node would make the same id in the same millisecond.
   */
  readonly random?: RandomSource;
}

export class OrderedIds {
  readonly #clock: Clock;
  readonly #nodeBits: number;
  readonly #random: RandomSource | undefined;
  /** The latest reading of the clock, in milliseconds since the epoch of the ids. */
  #reading = 0;
  /** The halves of the last id. */
  #micros = 0;
  #counter = 0;

  constructor({ clock, node, random }: OrderedIdOptions) {
    if (!Number.isInteger(node) || node < 0 || node >= NODE_RESERVED) {
      throw new RangeError(`the node of ordered ids must be a whole number from 0 to ${NODE_RESERVED - 1}`);
    }
    this.#clock = clock;
    this.#nodeBits = node * (COUNTER_MAX + 1);
    this.#random = random;
  }

  /**
   * Greater than every earlier id of this instance, also after the clock was set back, and greater than `after`. When the ids of a
   * millisecond are used up, or `after` is ahead of the clock, the id runs ahead of the clock instead of waiting. An `after` from the
   * future moves all later ids ahead too, so it must come from stored data of this service.
   */
  next(after?: string): string {
    this.#advance();
    if (after !== undefined) this.#pass(after);
    if (this.#micros > MICROS_MAX) throw new RangeError('no ordered id is left for this time');
    return textOf(this.#micros, this.#nodeBits + this.#counter);
  }

  #advance(): void {
    const now = Math.floor(this.#clock.now()) - EPOCH_MS;
    if (now > this.#reading) {
      this.#reading = now;
      const micros = now * 1000 + this.#startInMillisecond();
      if (micros > this.#micros) {
        this.#micros = micros;
        this.#counter = 0;
        return;
      }
    }
    if (this.#counter < COUNTER_MAX && this.#micros > 0) {
      this.#counter += 1;
    } else {
      this.#micros += 1;
      this.#counter = 0;
    }
  }

  #pass(after: string): void {
    const { micros, low } = halvesOf(after);
    if (micros < this.#micros || (micros === this.#micros && low < this.#nodeBits + this.#counter)) return;
    this.#micros = micros + 1;
    this.#counter = 0;
  }

  #startInMillisecond(): number {
    const [high = 0, low = 0] = this.#random?.bytes(2) ?? [];
    return (high * 256 + low) % 1000;
  }
}

/** A lower bound of the ids made at or after this moment, in milliseconds since 1970. */
export function orderedIdBefore(ms: number): string {
  const micros = Math.floor(ms - EPOCH_MS) * 1000;
  if (micros <= 0) return ZERO;
  return micros > MICROS_MAX ? LARGEST : textOf(micros, 0);
}

/**
 * The node of this instance: an integer counts by its remainder, another text by its hash, and without a setting `machine`
 * is a text that differs from that of every other process. With few nodes, two of some dozens of instances probably share
 * one: set a number for each instance where that matters.
 */
export function nodeOf(setting: string | null, machine: () => string): number {
  const text = setting?.trim() ?? '';
  const node = /^[+-]?[0-9]+$/.test(text)
    ? Number(BigInt.asUintN(9, BigInt(text)))
    : hash('sha256', text === '' ? machine() : text, 'buffer').readUInt32LE(0) % NODES;
  return Math.min(node, NODE_RESERVED - 1);
}

function textOf(micros: number, low: number): string {
  // In steps that each stay below 2^53: micros = upper * 10^6 + lower, and upper * 2^13 * 10^6 is divided by 10^10.
  const upper = Math.floor(micros / 1e6);
  const scaled = upper * LOW_BITS;
  const carried = Math.floor(scaled / 1e4);
  const rest = (scaled - carried * 1e4) * 1e6 + (micros - upper * 1e6) * LOW_BITS + low;
  const carry = rest >= GROUP ? 1 : 0;
  return `${groupText(carried + carry)}${groupText(rest - carry * GROUP)}`;
}

function groupText(group: number): string {
  return String(group).padStart(10, '0');
}

/** Throws for a text that is no ordered id of 20 digits. */
function halvesOf(text: string): { micros: number; low: number } {
  if (!/^[0-9]{20}$/.test(text) || text > LARGEST) throw new TypeError('not an ordered id');
  const high = Number(text.slice(0, 10));
  // 10^10 = 2^13 * 1220703 + 2^10.
  const rest = high * 1024 + Number(text.slice(10));
  const carry = Math.floor(rest / LOW_BITS);
  return { micros: high * 1_220_703 + carry, low: rest - carry * LOW_BITS };
}
