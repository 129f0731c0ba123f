import { detached } from './characters.ts';
import { type Flags, PATH_CHARACTERS_MAX, TermCounts } from './counts.ts';
import { type Field, fieldOf } from './fields.ts';
import type { LexicalQuery } from './lexical-query.ts';
import {
  isLexiconMark,
  leavesStart,
  lexiconParts,
  orderKeyIn,
  STEP_CHARACTERS,
  unescaped,
} from './lexicon.ts';
import { PhraseFinder } from './phrase-finder.ts';
import { type SoughtTexts, soughtTexts } from './sought-texts.ts';
import { type WatchedWords, watchedWords } from './watched-words.ts';
import { nextWord } from './word-places.ts';
import { storableText, wordEnd } from './words.ts';

/** The data of one candidate for scoring. */
export interface CandidateReading {
  readonly orderKey: string;
  /** The number of words in the selected fields. */
  readonly length: number;
  /** For each term of the query the sum of its frequencies in the selected fields, each times the boost of its field. */
  readonly weights: readonly number[];
  /** The frequencies of all terms in the selected fields together, without boosts. */
  readonly hits: number;
  /** For each term whether a selected field holds it. */
  readonly isMatched: Flags;
  /** For each term whether it matched longer words. */
  readonly isPrefixed: Flags;
  /** The paths of the first selected fields with a term, a phrase or the whole query. */
  readonly paths: readonly string[];
  /** The highest boost of all such fields; 0 if there is none. */
  readonly fieldBoost: number;
  /** Whether one of all such fields is metadata. */
  readonly isInMetadata: boolean;
  /** The quoted phrases, and the whole query, that a selected field holds. */
  readonly phrases: readonly string[];
  /** Whether one of them equals a whole field. */
  readonly isExact: boolean;
  /** How many of the query's phrases, and of its other terms, the record holds. */
  readonly asked: number;
  /** For each required group, the phrases that the record holds. */
  readonly requiredPhrases: readonly (readonly string[])[];
}

/** The most characters of path lines that are cached: records may have millions of different paths. */
const KNOWN_CHARACTERS_MAX = 500_000;
/** Longer lines are not cached. Their paths are too long to be named, even if each of their characters is escaped. */
const KNOWN_LINE_CHARACTERS_MAX = 2 * PATH_CHARACTERS_MAX + 1;
/** The memory of a cached line beside its own characters, in characters. */
const LINE_CHARACTERS = 50;
/** The most lines of the last record that are kept: most records of a collection have the same paths at their first leaves. */
const EXPECTED_LINES_MAX = 100;

/** The line of a path in a lexicon, with its end. */
interface PathLine {
  readonly text: string;
  readonly field: Field;
  /** Whether it is cached for other leaves and records. */
  readonly isKnown: boolean;
}

/** A lexicon, or a part of one, that is being read. */
interface OpenLexicon {
  readonly lexicon: string;
  /** The beginning of the unread rest. */
  at: number;
  leaves: number;
  leaf: OpenLeaf | null;
  readonly counts: TermCounts;
}

interface OpenLeaf {
  readonly field: Field;
  /** The number of words; counted only for a selected field. */
  readonly words: number;
  readonly start: number;
  readonly end: number;
  /** Whether a phrase may continue. */
  goesOn: boolean;
}

/** Reads candidates of one query. */
export class LexiconReader {
  readonly #query: LexicalQuery;
  readonly #phrases: PhraseFinder;
  /** The quoted phrases and the whole query, as texts. */
  readonly #texts: SoughtTexts;
  readonly #watched: WatchedWords;
  /** The places of the terms by their first UTF-16 unit. */
  readonly #termsByUnit = new Map<number, number[]>();
  /** A candidate must hold one of these, or all: the quoted phrases, and the places of the other terms. */
  readonly #askedPhrases: readonly string[];
  readonly #looseTerms: readonly number[];
  readonly #none: readonly number[];
  readonly #lines = new Map<string, PathLine>();
  #lineCharacters = 0;
  /** A longer path is cut to this. It is longer than each pointer of the query and each path that is named. */
  readonly #pathMax: number;
  /** The lines of the last record, by the place of their leaf. */
  readonly #expected: PathLine[] = [];

  constructor(query: LexicalQuery) {
    const { phrases, requiredGroups, terms, looseTerms, whole, fields, fieldBoosts } = query;
    const pointers = [...fields, ...fieldBoosts.keys()];
    this.#pathMax = Math.max(PATH_CHARACTERS_MAX, ...pointers.map(({ length }) => length)) + 1;
    this.#query = query;
    this.#askedPhrases = phrases.filter(({ words }) => words.length > 0).map(({ words }) => words.join(' '));
    this.#looseTerms = looseTerms.map((term) => terms.indexOf(term));
    const found = new Set([...this.#askedPhrases, ...requiredGroups.flat()]);
    this.#phrases = new PhraseFinder(found);
    this.#watched = watchedWords([...terms, ...[...found].map(firstWord)]);
    const texts = new Set([...phrases.map(({ text }) => text), whole]);
    texts.delete('');
    this.#texts = soughtTexts([...texts], this.#watched.few);
    this.#none = terms.map(() => 0);
    for (const [index, term] of terms.entries()) {
      const unit = term.charCodeAt(0);
      this.#termsByUnit.set(unit, [...(this.#termsByUnit.get(unit) ?? []), index]);
    }
  }

  /** `null`: the record is no candidate. `body`: only its text decides; call `readText`. */
  read(lexicon: string): CandidateReading | 'body' | null {
    return isLexiconMark(lexicon) ? 'body' : this.#read(lexicon);
  }

  /** Reads the stored text of the record instead, in steps, because it may be long. */
  *readText(orderKey: string, storedText: string): Generator<void, CandidateReading | null> {
    const counts = new TermCounts(this.#none);
    let leaves = 0;
    for (const part of lexiconParts(storedText, this.#pathMax)) {
      yield;
      const open = this.#begin(part, 0, leaves, counts);
      while (this.#readOn(open, open.at + STEP_CHARACTERS)) yield;
      leaves = open.leaves;
    }
    return this.#reading(storableText(orderKey), counts, this.#phrases.take());
  }

  #read(lexicon: string): CandidateReading | null {
    const counts = new TermCounts(this.#none);
    const open = this.#begin(lexicon, leavesStart(lexicon), 0, counts);
    while (this.#readOn(open, lexicon.length));
    return this.#reading(orderKeyIn(lexicon), counts, this.#phrases.take());
  }

  /** Begins the lines of leaves at `at`, which follow `leaves` earlier leaves of the record. */
  #begin(lexicon: string, at: number, leaves: number, counts: TermCounts): OpenLexicon {
    this.#watched.begin(lexicon);
    this.#texts.begin(lexicon);
    return { lexicon, at, leaves, leaf: null, counts };
  }

  /** Reads the words that begin before `until`. Returns whether the lexicon continues. */
  #readOn(open: OpenLexicon, until: number): boolean {
    while (open.at < until && open.at < open.lexicon.length) {
      const leaf = (open.leaf ??= this.#openLeaf(open));
      this.#readWords(open, leaf, Math.min(until, leaf.end));
      if (open.at < leaf.end || !this.#hasReadTexts(leaf, open.counts)) return true;
      this.#closeLeaf(open, leaf);
    }
    return open.at < open.lexicon.length;
  }

  #openLeaf(open: OpenLexicon): OpenLeaf {
    const { lexicon, at } = open;
    const { text: line, field } = this.#lineAt(lexicon, at, open.leaves);
    const space = lexicon.indexOf(' ', at + line.length);
    const words = field.isSelected ? Number(lexicon.slice(at + line.length, space)) : 0;
    this.#phrases.begin();
    open.leaves += 1;
    open.at = space + 1;
    const end = lexicon.indexOf('\n', open.at);
    if (field.isSelected) this.#texts.open(open.at, end);
    return { field, words, start: open.at, end, goesOn: false };
  }

  /** Searches a leaf for the texts, a long leaf for one step only. Returns whether the whole leaf was searched. */
  #hasReadTexts({ field, start, end }: OpenLeaf, counts: TermCounts): boolean {
    if (!field.isSelected) return true;
    while (this.#texts.readOn(counts)) if (end - start > STEP_CHARACTERS) return false;
    return true;
  }

  #closeLeaf(open: OpenLexicon, { field, words, end }: OpenLeaf): void {
    const { counts } = open;
    if (field.isSelected) counts.addLeaf(field, words, this.#texts.isFound);
    counts.endLeaf();
    open.leaf = null;
    open.at = end + 1;
  }

  #lineAt(lexicon: string, at: number, leaf: number): PathLine {
    const expected = this.#expected[leaf];
    if (expected !== undefined && lexicon.startsWith(expected.text, at)) return expected;
    const line = this.#line(lexicon.slice(at, lexicon.indexOf('\n', at) + 1));
    if (leaf < EXPECTED_LINES_MAX && line.isKnown) this.#expected[leaf] = line;
    return line;
  }

  #line(part: string): PathLine {
    const isKnown = part.length <= KNOWN_LINE_CHARACTERS_MAX;
    const known = isKnown ? this.#lines.get(part) : undefined;
    if (known !== undefined) return known;
    const text = isKnown ? detached(part) : part;
    const line = { text, field: fieldOf(unescaped(text.slice(0, -1)), this.#query), isKnown };
    if (isKnown) this.#keep(line);
    return line;
  }

  #keep(line: PathLine): void {
    const characters = LINE_CHARACTERS + line.text.length;
    this.#lineCharacters += characters;
    if (this.#lineCharacters > KNOWN_CHARACTERS_MAX) {
      this.#lines.clear();
      this.#lineCharacters = characters;
    }
    this.#lines.set(line.text, line);
  }

  /** Reads the words of the query in a leaf, and the words after them while a phrase may continue. */
  #readWords(open: OpenLexicon, leaf: OpenLeaf, until: number): void {
    const { lexicon, counts } = open;
    const { end } = leaf;
    let at = open.at;
    for (;;) {
      at = leaf.goesOn ? nextWord(lexicon, at, end) : this.#watched.next(at, end);
      if (at >= until) break;
      const next = wordEnd(lexicon, at);
      leaf.goesOn = this.#readWord(lexicon, at, next - at, counts);
      at = next;
    }
    open.at = at;
  }

  /** Returns whether the word begins or continues a phrase. */
  #readWord(lexicon: string, at: number, length: number, counts: TermCounts): boolean {
    const { terms, isPrefix } = this.#query;
    for (const index of this.#termsByUnit.get(lexicon.charCodeAt(at)) ?? []) {
      const term = terms[index]!;
      if (term.length > length || !lexicon.startsWith(term, at)) continue;
      if (term.length === length) counts.addWord(index, false);
      else if (isPrefix[index] === true) counts.addWord(index, true);
    }
    return !this.#phrases.isEmpty && this.#phrases.next(lexicon.slice(at, at + length));
  }

  #askedIn({ isPresent }: TermCounts, phrases: ReadonlySet<string>): number {
    let found = 0;
    for (const phrase of this.#askedPhrases) if (phrases.has(phrase)) found += 1;
    for (const term of this.#looseTerms) found += isPresent[term]!;
    return found;
  }

  /** Whether `found` phrases and terms suffice: all or one of them, by the match mode; a query without any needs none. */
  #isEnough(found: number): boolean {
    const asked = this.#askedPhrases.length + this.#looseTerms.length;
    return this.#query.matchMode === 'all' ? found === asked : found > 0 || asked === 0;
  }

  #reading(orderKey: string, counts: TermCounts, phrases: ReadonlySet<string>): CandidateReading | null {
    const requiredPhrases = this.#query.requiredGroups.map((group) =>
      group.filter((phrase) => phrases.has(phrase)),
    );
    if (requiredPhrases.some((group) => group.length === 0)) return null;
    const asked = this.#askedIn(counts, phrases);
    if (!this.#isEnough(asked)) return null;
    return {
      orderKey,
      length: counts.length,
      weights: counts.weights,
      hits: counts.hits,
      isMatched: counts.isMatched,
      isPrefixed: counts.isPrefixed,
      paths: counts.paths,
      fieldBoost: counts.fieldBoost,
      isInMetadata: counts.isInMetadata,
      phrases: counts.texts,
      isExact: counts.isExact,
      asked,
      requiredPhrases,
    };
  }
}

function firstWord(phrase: string): string {
  const end = phrase.indexOf(' ');
  return end < 0 ? phrase : phrase.slice(0, end);
}
