import { FoundText } from './found-text.ts';
import { isInWord } from './word-places.ts';
import { OTHER_UNIT, WORD, wordEnd, wordKinds } from './words.ts';

/** A search for the words of a query in one text after the other, from its beginning to its end. */
export interface WatchedWords {
  /** The searches for the beginnings of single words; empty if all words are searched together. */
  readonly few: readonly FoundText[];
  /** Begins another text. */
  begin(text: string): void;
  /** The next place from `at` on at which a word begins that may start with a watched word; `end` if there is none before it. */
  next(at: number, end: number): number;
}

/** For up to this number of words, `indexOf` for each word is faster than a look at each word of the text. */
const FEW = 12;
/** The most characters of a word that are searched: `indexOf` takes the product of both lengths on repetitive texts. */
const SEARCHED_CHARACTERS = 40;

export function watchedWords(words: Iterable<string>, fewMax = FEW): WatchedWords {
  const all = new Set(words);
  return all.size <= fewMax ? new FewWords(all) : new ManyWords(all);
}

class FewWords implements WatchedWords {
  readonly few: readonly FoundText[];
  #text = '';

  constructor(words: ReadonlySet<string>) {
    const searched = new Set([...words].map((word) => word.slice(0, SEARCHED_CHARACTERS)));
    this.few = [...searched].map((word) => new FoundText(word));
  }

  begin(text: string): void {
    this.#text = text;
    for (const word of this.few) word.begin(text);
  }

  next(at: number, end: number): number {
    const text = this.#text;
    for (let from = at; ; ) {
      const place = this.#nearest(from, end);
      if (place >= end || !isInWord(text, place)) return place;
      from = Math.max(place + 1, wordEnd(text, place));
    }
  }

  #nearest(at: number, end: number): number {
    let nearest = end;
    for (const word of this.few) {
      const place = word.next(at);
      if (place < nearest) nearest = place;
    }
    return nearest;
  }
}

class ManyWords implements WatchedWords {
  readonly few = [];
  /** By the first UTF-16 unit of a word. */
  readonly #isWatched = new Uint8Array(0x10000);
  #text = '';

  constructor(words: ReadonlySet<string>) {
    for (const word of words) this.#isWatched[word.charCodeAt(0)] = 1;
  }

  begin(text: string): void {
    this.#text = text;
  }

  /** The hot loop of such a search: it makes no call for a word of usual characters. */
  next(at: number, end: number): number {
    const text = this.#text;
    const isWatched = this.#isWatched;
    const kinds = wordKinds();
    for (let place = at; place < end; ) {
      const code = text.charCodeAt(place);
      const kind = kinds[code];
      if (kind === OTHER_UNIT) {
        place += 1;
        continue;
      }
      const start = place;
      if (kind === WORD) {
        if (isWatched[code] === 1) return start;
        place += 1;
        while (place < end && kinds[text.charCodeAt(place)] === WORD) place += 1;
      }
      // A character beyond U+FFFF may continue the word, or begin one.
      if (place < end && kinds[text.charCodeAt(place)] !== OTHER_UNIT) place = wordEnd(text, place);
      if (place > start && isWatched[code] === 1) return start;
      if (place === start) place += 1;
    }
    return end;
  }
}
