/** JSON texts of definitions. A definition is immutable, so its text is made once for all lists. */
const written = new WeakMap<object, Uint8Array>();

const [opening, comma, closing] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];

/** The items of a list. The answer copies their stored JSON texts. */
export class WrittenItems {
  readonly #items: readonly object[];

  constructor(items: readonly object[]) {
    this.#items = items;
  }

  /** The JSON text of the list, in pieces. */
  bytes(): readonly Uint8Array[] {
    const pieces = this.#items.flatMap((item, at) => (at === 0 ? [bytesOf(item)] : [comma, bytesOf(item)]));
    return [opening, ...pieces, closing];
  }

  /** The list of other items. A stable one for each item keeps its text. */
  map(change: (item: object) => object): WrittenItems {
    return new WrittenItems(this.#items.map(change));
  }

  /** For callers of `JSON.stringify`. */
  toJSON(): readonly object[] {
    return this.#items;
  }
}

function bytesOf(item: object): Uint8Array {
  const bytes = written.get(item) ?? Buffer.from(JSON.stringify(item));
  written.set(item, bytes);
  return bytes;
}
