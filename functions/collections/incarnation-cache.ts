import type { StoredCollection } from './stored-collection.ts';

const ENTRIES_MAX = 1_000;

/**
 * The incarnations to which collection names pointed when this process last read them. A call needs them to build its keys before
 * it reads the policy. A stale entry costs the call one more try, never a wrong answer.
 */
export class IncarnationCache {
  readonly #entries = new Map<string, StoredCollection>();

  get(space: string, name: string): StoredCollection | undefined {
    return this.#entries.get(keyOf(space, name));
  }

  /** `null` forgets the name. */
  set(space: string, name: string, collection: StoredCollection | null): void {
    const key = keyOf(space, name);
    this.#entries.delete(key);
    if (collection === null) return;
    this.#entries.set(key, collection);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** The name of a collection has no slash. */
function keyOf(space: string, name: string): string {
  return `${name}/${space}`;
}
