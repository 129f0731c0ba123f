/**
 * Due times of runs, earliest first, one for each run. A changed or removed time stays in the heap and is skipped
 * later.
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
    // Rebuild the heap before outdated entries outnumber current ones.
    if (this.#heap.length > 1_024 && this.#heap.length > 4 * this.#expected.size) this.#rebuild();
  }

  /** The earliest due time. */
  next(): number | undefined {
    let top = this.#heap[0];
    while (top !== undefined && this.#expected.get(top.runId) !== top.at) {
      this.#pop();
      top = this.#heap[0];
    }
    return top?.at;
  }

  /** Removes all due runs. Returns true if any run was due. */
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
