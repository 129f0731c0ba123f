import type { RecordParts } from '../collections/parts.ts';
import { objectSpaceKey, UPKEEP_SCOPE, upkeepListing } from '../collections/upkeep-collections.ts';

/** Upkeep visits a marked space after this time, and forgets no space that was marked since. */
export const MARK_MS = 600_000;
/** How long a mark counts as fresh. Shorter than `MARK_MS`: clocks differ, and writes take time. */
const FRESH_MS = 240_000;
/** The most spaces whose marks a process remembers. */
const REMEMBERED_MAX = 10_000;

/**
 * Marks spaces that have, or will have, leftovers of objects: upkeep finds leftovers by these marks. A process remembers its
 * marks, so that most writes need no further write.
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
      // Keep the earlier time, so that repeated marks do not delay upkeep of the space.
      const due = Math.min(found.get(key)?.due ?? Infinity, now + MARK_MS);
      return { writes: [{ put: { ...mark, due } }], result: null };
    });
    this.#fresh.delete(space);
    this.#fresh.set(space, now + FRESH_MS);
    if (this.#fresh.size > REMEMBERED_MAX) this.#fresh.delete(this.#fresh.keys().next().value ?? space);
  }
}
