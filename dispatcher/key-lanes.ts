/** Items of one key stand in one lane: the first of them is under way, the others wait in the order in which they came. */
export class KeyLanes<T> {
  readonly #lanes = new Map<string, { waiting: T[] }>();

  /** `true` where the item may begin at once; else it waits. */
  enter(key: string, item: T): boolean {
    const lane = this.#lanes.get(key);
    if (lane === undefined) this.#lanes.set(key, { waiting: [] });
    else lane.waiting.push(item);
    return lane === undefined;
  }

  /** The item under way has ended: gives the next one of its key, which may begin. */
  advance(key: string): T | undefined {
    const lane = this.#lanes.get(key);
    const next = lane?.waiting.shift();
    if (next === undefined) this.#lanes.delete(key);
    return next;
  }

  /** Takes the waiting items out that `which` names. */
  take(which: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const lane of this.#lanes.values()) {
      taken.push(...lane.waiting.filter(which));
      lane.waiting = lane.waiting.filter((item) => !which(item));
    }
    return taken;
  }
}
