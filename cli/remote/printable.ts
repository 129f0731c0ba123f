/**
 * Makes foreign text safe for a terminal: escapes control, format and separator characters as in JSON, except those
 * in `keep`.
 */
export function printable(text: string, keep = ''): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    keep.includes(character) ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** Makes every string in a JSON value printable, including member names. */
export function printableValues<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (Array.isArray(value)) return value.map(printableValues) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [printable(name), printableValues(member)]),
  ) as T;
}

/** At most `lengthMax` characters; an ellipsis marks removed text. */
export function shortened(text: string, lengthMax: number): string {
  const characters = Array.from(text);
  return characters.length <= lengthMax ? text : `${characters.slice(0, lengthMax - 1).join('')}…`;
}
