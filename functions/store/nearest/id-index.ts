const SEGMENTS = 64;
const SMALLEST = 8;
/** Less than double, so that fewer slots are unused. */
const GROWTH = 1.5;
const FREE = 0;
const REMOVED = -1;

/** The ids of the rows: `differs` answers whether the row at a position has another id. */
export type Differs = (position: number) => boolean;

/**
 * Maps an id to the position of its row, in about eight bytes a row: the ids themselves are stored with the rows.
 * Divided into segments, so that growth moves one part at a time.
 */
export class IdIndex {
  readonly #segments: (Segment | undefined)[] = Array.from({ length: SEGMENTS });

  /** -1: not found. */
  find(first: number, second: number, differs: Differs): number {
    const segment = this.#segments[first % SEGMENTS];
    if (segment === undefined) return -1;
    const { slots } = segment;
    for (let at = second % slots.length; ; at = (at + 1) % slots.length) {
      const slot = slots[at]!;
      if (slot === FREE) return -1;
      if (slot !== REMOVED && !differs(slot - 1)) return slot - 1;
    }
  }

  /** Adds an id that is not in it. `hashOf` gives the second word of the row at a position. Returns the bytes by which it grew. */
  add(first: number, second: number, position: number, hashOf: (position: number) => number): number {
    const segment = this.#segments[first % SEGMENTS];
    const next = segment === undefined || 4 * (segment.taken + 1) > 3 * segment.slots.length;
    const roomy = next ? grown(segment, hashOf) : segment;
    this.#segments[first % SEGMENTS] = roomy;
    if (insert(roomy.slots, second, position)) roomy.taken += 1;
    roomy.live += 1;
    return 4 * (roomy.slots.length - (segment?.slots.length ?? 0));
  }

  remove(first: number, second: number, position: number): void {
    const segment = this.#segments[first % SEGMENTS];
    if (segment === undefined) return;
    const { slots } = segment;
    for (let at = second % slots.length; slots[at] !== FREE; at = (at + 1) % slots.length) {
      if (slots[at] !== position + 1) continue;
      slots[at] = REMOVED;
      segment.live -= 1;
      return;
    }
  }
}

interface Segment {
  readonly slots: Int32Array;
  /** Slots that are not free. */
  taken: number;
  live: number;
}

/** Whether the slot was free. */
function insert(slots: Int32Array, second: number, position: number): boolean {
  let at = second % slots.length;
  while (slots[at]! > FREE) at = (at + 1) % slots.length;
  const wasFree = slots[at] === FREE;
  slots[at] = position + 1;
  return wasFree;
}

/** The segment with room for one more, without its removed slots. */
function grown(segment: Segment | undefined, hashOf: (position: number) => number): Segment {
  if (segment === undefined) return { slots: new Int32Array(SMALLEST), taken: 0, live: 0 };
  const { slots, live } = segment;
  const roomy = new Int32Array(
    2 * (live + 1) > slots.length ? Math.ceil(GROWTH * slots.length) : slots.length,
  );
  for (const slot of slots) {
    if (slot > FREE) insert(roomy, hashOf(slot - 1), slot - 1);
  }
  return { slots: roomy, taken: live, live };
}
