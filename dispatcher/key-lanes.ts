/** Queues items by key: the first item of a key is active, the others wait in order of arrival. */
export class KeyLanes<T> {
  readonly #lanes = new Map<string, { waiting: T[] }>();

  /** Returns `true` if the item may begin now; otherwise it waits. */
  enter(key: string, item: T): boolean {
    const lane = this.#lanes.get(key);
    if (lane === undefined) this.#lanes.set(key, { waiting: [] });
    else lane.waiting.push(item);
    return lane === undefined;
  }

  /** Ends the active item of a key and returns the next one, which may begin. */
  advance(key: string): T | undefined {
    const lane = this.#lanes.get(key);
    const next = lane?.waiting.shift();
    if (next === undefined) this.#lanes.delete(key);
    return next;
  }

  /** Removes and returns the waiting items that match `which`. */
  take(which: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const lane of this.#lanes.values()) {
      taken.push(...lane.waiting.filter(which));
      lane.waiting = lane.waiting.filter((item) => !which(item));
    }
    return taken;
  }
}
