/** The first `count` characters of a well-formed text; a character beyond U+FFFF counts as one. */
export function cutToCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken += 1) {
    end += isHighSurrogate(text.charCodeAt(end)) ? 2 : 1;
  }
  return text.slice(0, end);
}

/** The first `count` characters of a well-formed text; `null` where it has fewer. */
export function leadingCharacters(text: string, count: number): string | null {
  let end = 0;
  for (let taken = 0; taken < count; taken += 1) {
    if (end >= text.length) return null;
    end += isHighSurrogate(text.charCodeAt(end)) ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Whether the text has at least `count` characters. */
export function hasCharacters(text: string, count: number): boolean {
  // No text has more characters than UTF-16 units, and none has fewer than half as many.
  if (text.length < count) return false;
  return text.length >= count * 2 || cutToCharacters(text, count - 1) !== text;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** A copy of the text: V8 keeps a whole text in memory while a part of it is in use. */
export function detached(part: string): string {
  return ` ${part}`.slice(1);
}
