import { detached } from './characters.ts';
import { type Leaf, leavesOf } from './leaves.ts';
import { countWords } from './word-places.ts';
import { normalText, storableText } from './words.ts';

/** A longer lexicon is stored only as a mark: scoring then reads the record. */
export const LEXICON_BYTES_MAX = 65_536;

/** Characters of one step of long work: a millisecond or two. */
export const STEP_CHARACTERS = 65_536;
/** The cost of a leaf, in characters. */
const LEAF_CHARACTERS = 50;

const WHOLE = '=';
const MARK = '~';

/**
 * The data of a record for scoring: its order key, then for each leaf a line with its path, and a line with its number of words, a
 * space and its normal text. Normal texts hold no line feed, so scoring need not parse them, nor look at words that a query does
 * not name. `leaves` are normal, `words` their numbers of words. A lexicon with more than `bytesMax` bytes of UTF-8 is only a mark:
 * each leaf of a long list repeats the path of the list, so that the lines may be thousands of times longer than the record.
 */
export function lexiconOf(
  orderKey: string,
  leaves: readonly Leaf[],
  words: readonly number[] = leaves.map(({ text }) => countWords(text)),
  bytesMax = Infinity,
): string {
  const lines = [WHOLE + line(orderKey)];
  let least = 0;
  for (const [index, leaf] of leaves.entries()) {
    // No UTF-16 unit of a line takes less than a byte.
    least += leaf.path.length + leaf.text.length;
    if (least > bytesMax) return lexiconMark(orderKey);
    lines.push(...leafLines(leaf, words[index] ?? 0));
  }
  const lexicon = joined(lines);
  return Buffer.byteLength(lexicon) > bytesMax ? lexiconMark(orderKey) : lexicon;
}

/**
 * The lines of a stored text's leaves as in its lexicon, in parts of about a step; a part has whole leaves, or none. Only one part is
 * held, because all paths together may be far longer than the record. A path is cut to `pathMax` UTF-16 units.
 */
export function* lexiconParts(storedText: string, pathMax: number): Generator<string, void> {
  let lines: string[] = [];
  let characters = 0;
  for (const leaf of leavesOf(storedText, pathMax)) {
    if (leaf === null) {
      yield '';
      continue;
    }
    const cost = LEAF_CHARACTERS + leaf.path.length + leaf.text.length;
    if (characters > 0 && characters + cost > STEP_CHARACTERS) {
      yield joined(lines);
      lines = [];
      characters = 0;
    }
    const normal = normalLeaf(leaf);
    if (normal !== null) lines.push(...leafLines(normal, countWords(normal.text)));
    characters += cost;
  }
  yield joined(lines);
}

function leafLines({ path, text }: Leaf, words: number): readonly [string, string] {
  return [line(path), `${words} ${text}`];
}

function joined(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** The leaves with their normal texts, in steps, without blank ones. */
export function* normalLeaves(leaves: Iterable<Leaf | null>): Generator<void, readonly Leaf[]> {
  const normals: Leaf[] = [];
  let characters = 0;
  for (const leaf of leaves) {
    const normal = leaf === null ? null : normalLeaf(leaf);
    if (normal !== null) normals.push(normal);
    characters += LEAF_CHARACTERS + (leaf?.text.length ?? STEP_CHARACTERS);
    if (characters < STEP_CHARACTERS) continue;
    characters = 0;
    yield;
  }
  return normals;
}

function normalLeaf({ path, text }: Leaf): Leaf | null {
  const normal = normalText(text);
  return normal === '' ? null : { path, text: normal };
}

/**
 * The mark in place of a lexicon: scoring must read the record itself.
 * @testonly
 */
export function lexiconMark(orderKey: string): string {
  return `${MARK}${line(orderKey)}\n`;
}

export function isLexiconMark(lexicon: string): boolean {
  return lexicon.startsWith(MARK);
}

/** The order key of the record, also from a mark. */
export function orderKeyIn(lexicon: string): string {
  return detached(unescaped(lexicon.slice(1, lexicon.indexOf('\n'))));
}

/** Where the first leaf of a lexicon begins. */
export function leavesStart(lexicon: string): number {
  return lexicon.indexOf('\n') + 1;
}

/** A text in one line. */
function line(text: string): string {
  return storableText(text).replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** The text of a line. */
export function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
