import { OTHER_UNIT, WORD, wordEnd, wordKinds } from './words.ts';

/** The first place from `at` on at which a word begins, if `at` is not inside a word; `end` if none begins before it. */
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
  // A low surrogate alone is no letter: read the whole character.
  const code = text.charCodeAt(before);
  return code >= 0xdc00 && code < 0xe000 && wordEnd(text, before - 1) >= place;
}
