import { FoundText } from './found-text.ts';
import { isInWord } from './word-places.ts';
import { OTHER_UNIT, WORD, wordEnd, wordKinds } from './words.ts';

/** Words that a query asks for, which are looked for in one text after the other, from its beginning to its end. */
export interface WatchedWords {
  /** The beginnings of the words, where each is looked for by itself. */
  readonly few: readonly FoundText[];
  /** Another text begins. */
  begin(text: string): void;
  /** The next place from `at` on where a word begins that may be watched or longer; `end` where none begins before it. */
  next(at: number, end: number): number;
}

/** Up to so many words the search of the engine for each of them is faster than a look at each word of the text. */
const FEW = 12;
/** As much of a word is searched for: the search takes the product of both lengths where they repeat themselves. */
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

  /** Most of the time of such a search is spent here, so that it calls nothing for a word of the usual characters. */
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
      // Characters beyond U+FFFF may go on with the word, or begin one.
      if (place < end && kinds[text.charCodeAt(place)] !== OTHER_UNIT) place = wordEnd(text, place);
      if (place > start && isWatched[code] === 1) return start;
      if (place === start) place += 1;
    }
    return end;
  }
}
