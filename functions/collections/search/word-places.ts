import { OTHER_UNIT, WORD, wordEnd, wordKinds } from './words.ts';

/** The place from `at` on where a word begins, if no word has begun before `at`; `end` where none begins before it. */
export function nextWord(text: string, at: number, end: number): number {
  const kinds = wordKinds();
  for (let place = at; place < end; place += 1) {
    const kind = kinds[text.charCodeAt(place)];
    if (kind === OTHER_UNIT) continue;
    if (kind === WORD || wordEnd(text, place) > place) return place;
  }
  return end;
}

/** The number of words of a normal text. */
export function countWords(text: string): number {
  let count = 0;
  for (let at = nextWord(text, 0, text.length); at < text.length; count += 1) {
    at = nextWord(text, wordEnd(text, at), text.length);
  }
  return count;
}

/** Whether the character before the place is part of a word. */
export function isInWord(text: string, place: number): boolean {
  const before = place - 1;
  if (wordKinds()[text.charCodeAt(before)] === WORD) return true;
  // The second half of a character beyond U+FFFF is no letter by itself.
  const code = text.charCodeAt(before);
  return code >= 0xdc00 && code < 0xe000 && wordEnd(text, before - 1) >= place;
}
