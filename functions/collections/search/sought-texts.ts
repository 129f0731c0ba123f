import { FoundText } from './found-text.ts';
import { STEP_CHARACTERS } from './lexicon.ts';
import { TextFinder } from './text-finder.ts';

/** Receives the texts that a leaf contains. */
interface FoundTexts {
  addText(text: string): void;
  /** Whether a text equals the whole leaf. */
  isExact: boolean;
}

/** A search for texts in the leaves of one lexicon after the other. */
export interface SoughtTexts {
  /** Begins another lexicon. */
  begin(lexicon: string): void;
  /** Begins the next leaf, which is between the two places. */
  open(start: number, end: number): void;
  /** Searches one step of the leaf. Returns whether the search must continue. */
  readOn(found: FoundTexts): boolean;
  /** Whether the searched part of the leaf holds a text. */
  readonly isFound: boolean;
}

/** Up to this number of texts are searched one by one. */
const FEW = 8;

/** `watched` are words that the reader already searches: if one word of a text is absent, so is the text. */
export function soughtTexts(
  texts: readonly string[],
  watched: readonly FoundText[],
  fewMax = FEW,
): SoughtTexts {
  return texts.length <= fewMax ? new FewTexts(texts, watched) : new ManyTexts(texts);
}

class FewTexts implements SoughtTexts {
  readonly #texts: readonly { readonly found: FoundText; readonly parts: readonly FoundText[] }[];
  #start = 0;
  #end = 0;
  #next = 0;
  isFound = false;

  constructor(texts: readonly string[], watched: readonly FoundText[]) {
    this.#texts = texts.map((text) => ({
      found: new FoundText(text),
      parts: watched.filter((word) => text.includes(word.text)),
    }));
  }

  begin(lexicon: string): void {
    for (const { found } of this.#texts) found.begin(lexicon);
  }

  open(start: number, end: number): void {
    this.#start = start;
    this.#end = end;
    this.#next = 0;
    this.isFound = false;
  }

  /** A step is one text. */
  readOn(counts: FoundTexts): boolean {
    const text = this.#texts[this.#next];
    if (text === undefined) return false;
    this.#next += 1;
    const { found, parts } = text;
    // No text crosses the end of a line, so a text that begins in a leaf lies in it completely.
    if (!parts.some((part) => part.isAbsent) && found.next(this.#start) < this.#end) {
      this.isFound = true;
      counts.addText(found.text);
      if (found.text.length === this.#end - this.#start) counts.isExact = true;
    }
    return this.#next < this.#texts.length;
  }
}

/** Searches all texts in one pass: a query may have more than a hundred. */
class ManyTexts implements SoughtTexts {
  readonly #finder: TextFinder;
  #lexicon = '';
  #start = 0;
  #at = 0;
  #end = 0;
  isFound = false;

  constructor(texts: readonly string[]) {
    this.#finder = new TextFinder(texts);
  }

  begin(lexicon: string): void {
    this.#lexicon = lexicon;
    this.#finder.forget();
  }

  open(start: number, end: number): void {
    this.#start = start;
    this.#at = start;
    this.#end = end;
    this.isFound = false;
    this.#finder.begin();
  }

  readOn(counts: FoundTexts): boolean {
    const until = Math.min(this.#end, this.#at + STEP_CHARACTERS);
    const isIn = this.#finder.read(this.#lexicon, this.#at, until, (text) => counts.addText(text));
    this.isFound ||= isIn;
    this.#at = until;
    if (until < this.#end) return true;
    if (this.#finder.ends === this.#end - this.#start) counts.isExact = true;
    return false;
  }
}
