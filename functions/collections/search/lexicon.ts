import { detached } from './characters.ts';
import { type Leaf, leavesOf } from './leaves.ts';
import { countWords } from './word-places.ts';
import { normalText, storableText } from './words.ts';

/** A longer lexicon is a mark only: scoring then reads the record. */
export const LEXICON_BYTES_MAX = 65_536;

/** A step of long work is about so many characters: a millisecond or two. */
export const STEP_CHARACTERS = 65_536;
/** A leaf costs as much as so many characters. */
const LEAF_CHARACTERS = 50;

const WHOLE = '=';
const MARK = '~';

/**
 * What scoring reads of a record: its order key, then for each leaf a line with its path and a line with the number of its
 * words, a space and its normal text, in the order of the record. Normal texts hold no line feed, so that no text has to be
 * parsed, and no word has to be looked at that a query does not ask for. `leaves` are normal, `words` are their numbers of words.
 * Of a lexicon with more than `bytesMax` bytes of UTF-8 only the mark is made: each leaf of a long list repeats the path of
 * the list, so that all lines together may have thousands of times the length of the record.
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
 * The lines of the leaves of a stored text, as its lexicon has them, in parts of about a step: a part has whole leaves, or none. Of the
 * leaves before a part nothing is held, because the paths of all of them may be far longer than the record. A path is cut to
 * `pathMax` UTF-16 units.
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

/** The leaves with their normal texts, in steps; a blank one says nothing. */
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
 * The lexicon of a record of which scoring must read the record itself.
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
