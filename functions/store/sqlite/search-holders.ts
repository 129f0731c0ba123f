import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type { TermRequest } from '../search.ts';

/** A record that holds a term. */
export type Holder = readonly [record: number, id: string, orderKey: string];

/** The first holders of a term behind an order key, in the order of these keys, collected from rows in any order. */
export class FirstHolders {
  readonly #request: TermRequest;
  readonly #most: number;
  readonly #list: Holder[] = [];
  #isWhole = true;
  #given = 0;

  constructor(request: TermRequest, most: number) {
    this.#request = request;
    this.#most = most;
  }

  add(rows: readonly Holder[]): void {
    const { after } = this.#request;
    const list = this.#list;
    const end = list.length === this.#most ? list.at(-1)?.[2] : undefined;
    for (const holder of rows) {
      const [, , orderKey] = holder;
      if (after !== undefined && compareUtf8(orderKey, after) <= 0) continue;
      if (end === undefined || compareUtf8(orderKey, end) < 0) list.push(holder);
      else this.#isWhole = false;
    }
    list.sort(([, , a], [, , b]) => compareUtf8(a, b));
    if (list.length <= this.#most) return;
    list.length = this.#most;
    this.#isWhole = false;
  }

  /** The next ones, at most `count`. */
  next(count: number): readonly Holder[] {
    return this.#list.slice(this.#given, this.#given + count);
  }

  /** The first `count` of the next ones are done with. Returns the order key of the last one; `null`: no holder follows. */
  give(count: number): string | null {
    this.#given += count;
    if (this.#isWhole && this.#given === this.#list.length) return null;
    return this.#last ?? null;
  }

  /** Whether the request continues after the previous answer, and entries are left. */
  isBefore({ collection, group, term, after }: TermRequest): boolean {
    const own = this.#request;
    if (own.collection !== collection || own.group !== group || own.term !== term) return false;
    return after !== undefined && after === this.#last && this.#given < this.#list.length;
  }

  get #last(): string | undefined {
    return this.#list[this.#given - 1]?.[2];
  }
}
