/**
 * Keeps the first `countMax` of the offered items in the order of `compare`, and holds no more in memory. So a query in another
 * order than the listing holds `offset + limit` records, not the whole collection.
 */
export class FirstItems<Item> {
  readonly #countMax: number;
  readonly #compare: (a: Item, b: Item) => number;
  /** A binary heap with the last item on top, which the next better one replaces. */
  readonly #heap: Item[] = [];
  #offered = 0;

  constructor(countMax: number, compare: (a: Item, b: Item) => number) {
    this.#countMax = countMax;
    this.#compare = compare;
  }

  /** How many items were offered, whether kept or not. */
  get offered(): number {
    return this.#offered;
  }

  /** Returns the item that is not kept: the offered one, or the one that it replaces. */
  offer(item: Item): Item | undefined {
    this.#offered += 1;
    if (this.#heap.length < this.#countMax) {
      this.#heap.push(item);
      this.#rise(this.#heap.length - 1);
      return undefined;
    }
    const last = this.#heap[0];
    if (last === undefined || this.#compare(item, last) >= 0) return item;
    this.#heap[0] = item;
    this.#sink(0);
    return last;
  }

  get kept(): number {
    return this.#heap.length;
  }

  /** Removes and returns the last of the kept items. */
  takeLast(): Item | undefined {
    const [last] = this.#heap;
    const end = this.#heap.pop();
    if (end !== undefined && this.#heap.length > 0) {
      this.#heap[0] = end;
      this.#sink(0);
    }
    return last;
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isAfter(at, parent)) return;
      this.#exchange(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      let last = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#isAfter(child, last)) last = child;
      }
      if (last === at) return;
      this.#exchange(at, last);
      at = last;
    }
  }

  #isAfter(a: number, b: number): boolean {
    return this.#compare(this.#heap[a] as Item, this.#heap[b] as Item) > 0;
  }

  #exchange(a: number, b: number): void {
    const item = this.#heap[a] as Item;
    this.#heap[a] = this.#heap[b] as Item;
    this.#heap[b] = item;
  }
}
