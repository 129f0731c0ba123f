import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../kernel/canonical-json.ts';

const ENTRIES_MAX = 10_000;

/** The owner of positions: a query, and the incarnation of the collection that it reads. */
export interface PositionOwner {
  readonly space: string;
  readonly incarnation: string;
  readonly query: JsonObject;
}

/**
 * Remembers the end of each page that this process answered: the order key before each offset. A token holds only the offset.
 * With the remembered key the next page costs one page; without it the answer is read again from its beginning.
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
