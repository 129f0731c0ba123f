/**
 * Settings as a tree: `Server:ApiKeys:0` is the child `0` of the child `ApiKeys` of the child `Server`. Names
 * match in upper and lower case. Sources are laid over each other leaf by leaf; the later one wins.
 */
export interface Entry {
  /** The key as this source wrote it. */
  readonly key: string;
  readonly value: string;
  readonly source: string;
  /** An empty object or array of a file, which is no text. */
  readonly hollow?: true;
  /** Position among the sources. Two values at one position contradict each other. */
  readonly rank: number;
}

/** The value of a list that was set to be empty. */
export const emptyList = '[]';

export class Node {
  entry: Entry | undefined;
  readonly children = new Map<string, Node>();

  child(name: string): Node | undefined {
    return this.children.get(name.toLowerCase());
  }

  at(key: string): Node | undefined {
    return key.split(':').reduce<Node | undefined>((node, name) => node?.child(name), this);
  }

  /** Replaces the entry at its key. Returns the entry of the same rank with another value, if there was one. */
  put(entry: Entry): Entry | undefined {
    const node = entry.key.split(':').reduce<Node>((parent, name) => parent.#made(name), this);
    const before = node.entry;
    node.entry = entry;
    return before !== undefined && before.rank === entry.rank && before.value !== entry.value
      ? before
      : undefined;
  }

  #made(name: string): Node {
    const there = this.child(name);
    if (there !== undefined) return there;
    const made = new Node();
    this.children.set(name.toLowerCase(), made);
    return made;
  }

  /** Every entry of this node and below, parents first. */
  *entries(): Generator<Entry> {
    if (this.entry !== undefined) yield this.entry;
    for (const child of this.children.values()) yield* child.entries();
  }
}
