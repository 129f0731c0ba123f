/**
 * Moments that are expected, one for each run: the earliest first. What is expected anew, or no more, leaves its old moment
 * behind in the heap, where it is passed over without anybody being asked.
 */
export class DueTimes {
  readonly #expected = new Map<string, number>();
  readonly #heap: Entry[] = [];

  get size(): number {
    return this.#expected.size;
  }

  expect(runId: string, at: number): void {
    if (this.#expected.get(runId) === at) return;
    this.#expected.set(runId, at);
    this.#push({ at, runId });
  }

  forget(runId: string): void {
    this.#expected.delete(runId);
    // What is left in the heap of runs that came and went is cleared out before it outweighs what counts.
    if (this.#heap.length > 1_024 && this.#heap.length > 4 * this.#expected.size) this.#rebuild();
  }

  /** The earliest moment that is still expected. */
  next(): number | undefined {
    let top = this.#heap[0];
    while (top !== undefined && this.#expected.get(top.runId) !== top.at) {
      this.#pop();
      top = this.#heap[0];
    }
    return top?.at;
  }

  /** Takes out all that is due; answers whether anything was. */
  takeDue(now: number): boolean {
    let taken = false;
    for (let at = this.next(); at !== undefined && at <= now; at = this.next()) {
      const top = this.#heap[0];
      if (top !== undefined) this.#expected.delete(top.runId);
      taken = true;
    }
    return taken;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.at <= entry.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      let least = left;
      if (right !== undefined && right.at < left.at) {
        least = right;
        child += 1;
      }
      if (least.at >= last.at) break;
      heap[index] = least;
      index = child;
    }
    heap[index] = last;
  }

  #rebuild(): void {
    this.#heap.length = 0;
    for (const [runId, at] of this.#expected) this.#push({ at, runId });
  }
}

interface Entry {
  readonly at: number;
  readonly runId: string;
}
