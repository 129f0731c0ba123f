import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../kernel/canonical-json.ts';

const ENTRIES_MAX = 10_000;

/** The query whose answer has positions: what it asks, and of which life of which collection. */
export interface PositionOwner {
  readonly space: string;
  readonly incarnation: string;
  readonly query: JsonObject;
}

/**
 * Where the pages of queries ended that this process answered: the order key before each offset. A token names the offset
 * alone; with the position the next page costs a page, and without it the answer is read again from its beginning.
 */
export class CursorMemory {
  readonly #positions = new Map<string, string>();

  get(owner: PositionOwner, offset: number): string | null {
    return this.#positions.get(keyOf(owner, offset)) ?? null;
  }

  set(owner: PositionOwner, offset: number, orderKey: string): void {
    const key = keyOf(owner, offset);
    this.#positions.delete(key);
    this.#positions.set(key, orderKey);
    const [oldest] = this.#positions.keys();
    if (this.#positions.size > ENTRIES_MAX && oldest !== undefined) this.#positions.delete(oldest);
  }
}

function keyOf({ space, incarnation, query }: PositionOwner, offset: number): string {
  return hash('sha256', canonicalJson([space, incarnation, query, offset]), 'base64url');
}
