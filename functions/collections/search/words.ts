const word = /[\p{L}\p{Nd}]+/gu;
const wordCharacter = /[\p{L}\p{Nd}]/u;

/** Kinds of UTF-16 units. */
export const OTHER_UNIT = 0;
export const WORD = 1;
/** The first half of a character beyond U+FFFF, which may be a letter. */
const HIGH_SURROGATE = 2;

let kinds: Uint8Array | undefined;

/**
 * The form in which texts are compared: lower case, trimmed, each run of white space one space. Stores hold neither U+0000 nor a
 * lone surrogate, so each of them counts as U+FFFD.
 */
export function normalText(text: string): string {
  // Skip single spaces, which most white space is.
  return lowerCase(storableText(text))
    .replace(/ \s+|[^\S ]\s*/g, ' ')
    .trim();
}

/**
 * Lower case, letter by letter, so that words in capitals are found. `toLowerCase` alone gives a capital sigma another form at the
 * end of a word, and turns a capital I with a dot into an i and a mark, which is no letter.
 */
function lowerCase(text: string): string {
  return text
    .toLowerCase()
    .replace(/i\u0307+/g, 'i')
    .replaceAll('ς', 'σ');
}

/** The text with U+FFFD in place of characters that no store holds. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** The words of a normal text in their order: its longest runs of letters and decimal digits. */
export function wordsOf(normal: string): readonly string[] {
  return normal.match(word) ?? [];
}

/** As `wordsOf`, in steps of `stepCharacters`: a text may have some hundred thousand words. */
export function* wordsInSteps(normal: string, stepCharacters: number): Generator<void, readonly string[]> {
  if (normal.length <= stepCharacters) return wordsOf(normal);
  const words: string[] = [];
  for (let at = 0; at < normal.length; ) {
    // A word that crosses the end of a step belongs to that step, and so does a surrogate pair.
    const place = Math.min(at + stepCharacters, normal.length);
    const end = wordEnd(normal, isLowSurrogate(normal.charCodeAt(place)) ? place + 1 : place);
    for (const each of wordsOf(normal.slice(at, end))) words.push(each);
    at = end;
    yield;
  }
  return words;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** The words of a normal text, one by one: a text may have very many. */
export function* eachWord(normal: string): Generator<string, void> {
  for (const [found] of normal.matchAll(word)) yield found;
}

/** The end of the word that begins at or before `start`. */
export function wordEnd(text: string, start: number): number {
  const kindOf = wordKinds();
  for (let at = start; at < text.length; at += 1) {
    const kind = kindOf[text.charCodeAt(at)];
    if (kind === WORD) continue;
    if (kind !== HIGH_SURROGATE || !isWordPair(text, at)) return at;
    at += 1;
  }
  return text.length;
}

/** The kinds of all UTF-16 units. */
export function wordKinds(): Uint8Array {
  return (kinds ??= readKinds());
}

/** Builds a table of the 65,536 code units: a regular expression for each character takes ten times as long. */
function readKinds(): Uint8Array {
  const table = new Uint8Array(0x10000).fill(OTHER_UNIT);
  for (let code = 0; code < table.length; code += 1) {
    if (code >= 0xd800 && code < 0xdc00) table[code] = HIGH_SURROGATE;
    else if (wordCharacter.test(String.fromCharCode(code))) table[code] = WORD;
  }
  return table;
}

function isWordPair(text: string, at: number): boolean {
  return wordCharacter.test(String.fromCodePoint(text.codePointAt(at) ?? 0));
}
