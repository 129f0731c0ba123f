/** Most records hold no phrase. */
const NONE: ReadonlySet<string> = new Set();

/** A beginning of phrases. */
interface Beginning {
  readonly next: Map<string, Beginning>;
  /** The longest shorter beginning that equals the last words of this one; the first one is empty. */
  restart: Beginning | null;
  /** The phrase that ends here. */
  phrase: string | null;
  /** The longest phrase that ends with the same words and is shorter. */
  shorter: Beginning | null;
}

/**
 * Finds phrases, which are adjacent words in one leaf. All are found in one pass (Aho and Corasick, 1975): a request may name
 * hundreds, and a record may have hundreds of thousands of words.
 */
export class PhraseFinder {
  readonly #first = beginning();
  readonly #found = new Set<string>();
  #at = this.#first;

  /** Each phrase has its words joined by one space. */
  constructor(phrases: Iterable<string>) {
    for (const phrase of phrases) this.#add(phrase);
    this.#link();
  }

  /** Whether there is no phrase to find. */
  get isEmpty(): boolean {
    return this.#first.next.size === 0;
  }

  /** Begins another leaf. */
  begin(): void {
    this.#at = this.#first;
  }

  /** Takes the next word of the leaf. Returns whether a phrase may continue after it. */
  next(word: string): boolean {
    let at: Beginning | null = this.#at;
    while (at !== null && !at.next.has(word)) at = at.restart;
    this.#at = at?.next.get(word) ?? this.#first;
    // If a phrase was found before, so were the shorter phrases at its end.
    for (let end = ending(this.#at); end !== null; end = end.shorter) {
      if (end.phrase === null || this.#found.has(end.phrase)) break;
      this.#found.add(end.phrase);
    }
    return this.#at !== this.#first;
  }

  /** Returns the phrases of the record, and begins another record. */
  take(): ReadonlySet<string> {
    if (this.#found.size === 0) return NONE;
    const found = new Set(this.#found);
    this.#found.clear();
    return found;
  }

  #add(phrase: string): void {
    let at = this.#first;
    for (const word of phrase.split(' ')) {
      const next = at.next.get(word) ?? beginning();
      at.next.set(word, next);
      at = next;
    }
    at.phrase = phrase;
  }

  /** Links shorter beginnings first, so that the restarts of each are known. */
  #link(): void {
    const all = [this.#first];
    for (const each of all) {
      for (const [word, next] of each.next) {
        let restart = each.restart;
        while (restart !== null && !restart.next.has(word)) restart = restart.restart;
        next.restart = restart?.next.get(word) ?? this.#first;
        next.shorter = ending(next.restart);
        all.push(next);
      }
    }
  }
}

function beginning(): Beginning {
  return { next: new Map(), restart: null, phrase: null, shorter: null };
}

/** The longest phrase that ends where a beginning does. */
function ending(at: Beginning): Beginning | null {
  return at.phrase === null ? at.shorter : at;
}
