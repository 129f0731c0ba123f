/** White space as Unicode defines it. The `\s` of JavaScript lacks U+0085 and has U+FEFF, which is no white space. */
export function isWhiteSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x1680) return unit === 0x85 || unit === 0xa0;
  return (
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0x1680
  );
}

/** The first index from `at` on without white space; the length of the text if there is none. */
export function skipWhiteSpace(text: string, at: number): number {
  let place = at;
  while (place < text.length && isWhiteSpace(text.charCodeAt(place))) place += 1;
  return place;
}

export function isBlank(text: string): boolean {
  return skipWhiteSpace(text, 0) === text.length;
}

/** Whether `at` lies between the two halves of a code point. */
export function splitsCodePoint(text: string, at: number): boolean {
  const after = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  return after >= 0xdc00 && after < 0xe000 && before >= 0xd800 && before < 0xdc00;
}
