/** Most records hold no phrase. */
const NONE: ReadonlySet<string> = new Set();

/** A beginning of phrases. */
interface Beginning {
  readonly next: Map<string, Beginning>;
  /** The longest beginning that ends with the same words; the first one begins nothing. */
  restart: Beginning | null;
  /** The phrase that ends here. */
  phrase: string | null;
  /** The longest phrase that ends with the same words and is shorter. */
  shorter: Beginning | null;
}

/**
 * Finds phrases, which are words that stand beside each other in one leaf. All of them are looked for in one pass (Aho and
 * Corasick, 1975): a request may name hundreds, and a record may have hundreds of thousands of words.
 */
export class PhraseFinder {
  readonly #first = beginning();
  readonly #found = new Set<string>();
  #at = this.#first;

  /** Each has its words joined by one space. */
  constructor(phrases: Iterable<string>) {
    for (const phrase of phrases) this.#add(phrase);
    this.#link();
  }

  /** Whether there is no phrase to find. */
  get isEmpty(): boolean {
    return this.#first.next.size === 0;
  }

  /** Another leaf begins. */
  begin(): void {
    this.#at = this.#first;
  }

  /** Takes the next word of the leaf. Returns whether a phrase may go on behind it. */
  next(word: string): boolean {
    let at: Beginning | null = this.#at;
    while (at !== null && !at.next.has(word)) at = at.restart;
    this.#at = at?.next.get(word) ?? this.#first;
    // The shorter ones of a phrase that was found before were found with it.
    for (let end = ending(this.#at); end !== null; end = end.shorter) {
      if (end.phrase === null || this.#found.has(end.phrase)) break;
      this.#found.add(end.phrase);
    }
    return this.#at !== this.#first;
  }

  /** The phrases that the record holds; another record begins. */
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

  /** The shorter beginnings come first, so that the restarts of each are known. */
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
