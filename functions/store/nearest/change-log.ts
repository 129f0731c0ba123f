/** Changes that the log of a small matrix holds. */
const LEAST = 64;
const MOST = 4096;

interface Change {
  readonly version: number;
  readonly id: string;
}

/** The latest changes of a matrix, so that a search at an earlier moment skips the rows that changed since. */
export class ChangeLog {
  #changes: Change[] = [];
  #from = Number.POSITIVE_INFINITY;

  /** Starts the log: from now on it contains every change above this version. */
  begin(version: number): void {
    this.#from = version;
  }

  get hasBegun(): boolean {
    return this.#from < Number.POSITIVE_INFINITY;
  }

  /** Holds fewer changes for a small matrix, which is soon read from the database. */
  add(version: number, id: string, rows: number): void {
    this.#changes.push({ version, id });
    const most = Math.min(MOST, LEAST + Math.floor(rows / 8));
    if (this.#changes.length < 2 * most) return;
    const dropped = this.#changes.splice(0, this.#changes.length - most);
    this.#from = dropped.at(-1)!.version;
  }

  /** The records that changed above a version. `null`: the log does not reach back to it. */
  idsAbove(version: number): ReadonlySet<string> | null {
    if (version < this.#from) return null;
    const ids = new Set<string>();
    for (let at = this.#changes.length - 1; at >= 0 && this.#changes[at]!.version > version; at -= 1) {
      ids.add(this.#changes[at]!.id);
    }
    return ids;
  }
}
