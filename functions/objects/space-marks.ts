import type { RecordParts } from '../collections/parts.ts';
import { objectSpaceKey, UPKEEP_SCOPE, upkeepListing } from '../collections/upkeep-collections.ts';

/** Upkeep looks at a marked space after this, and forgets none that was marked since. */
export const MARK_MS = 600_000;
/** A leftover is written within this time of the mark, or the space is marked again: clocks differ, and writes take time. */
const FRESH_MS = 240_000;
/** Of spaces whose mark a process remembers. */
const REMEMBERED_MAX = 10_000;

/**
 * Marks spaces that have, or are about to have, leftovers of objects: upkeep finds leftovers by these marks. A process remembers
 * its marks, so most writes cost no further one.
 */
export class SpaceMarks {
  readonly #parts: Pick<RecordParts, 'store' | 'world'>;
  /** Until when the mark of a space is fresh; the oldest first. */
  readonly #fresh = new Map<string, number>();

  constructor(parts: Pick<RecordParts, 'store' | 'world'>) {
    this.#parts = parts;
  }

  /** Whether a leftover may be written in the space now. Ask in the decision that writes it. */
  isFresh(space: string): boolean {
    return this.#parts.world.clock.now() < (this.#fresh.get(space) ?? 0);
  }

  /** Marks the space unless its mark is fresh. Call it before the leftover is written. */
  async ensure(space: string): Promise<void> {
    if (this.isFresh(space)) return;
    const { store, world } = this.#parts;
    const now = world.clock.now();
    const key = objectSpaceKey(space);
    const mark = { key, head: { space, markedAt: now }, body: null, listing: upkeepListing(key) };
    await (await store()).transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
      // A space that is marked again and again has its turn all the same.
      const due = Math.min(found.get(key)?.due ?? Infinity, now + MARK_MS);
      return { writes: [{ put: { ...mark, due } }], result: null };
    });
    this.#fresh.delete(space);
    this.#fresh.set(space, now + FRESH_MS);
    if (this.#fresh.size > REMEMBERED_MAX) this.#fresh.delete(this.#fresh.keys().next().value ?? space);
  }
}
