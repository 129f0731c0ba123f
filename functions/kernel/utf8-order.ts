const LOOPED_LENGTH = 32;
const highUnit = /[\uD800-\uFFFF]/;

/**
 * Orders two texts as their UTF-8 bytes are ordered, which is the order of code points. Every provider orders keys so; the
 * default order of JavaScript differs, because a surrogate sorts below U+E000 to U+FFFF.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  // The engine compares long common beginnings faster than a loop. Its order differs only if both texts hold such a unit.
  if (length > LOOPED_LENGTH && !highUnit.test(a)) return a < b ? -1 : Number(a > b);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Moves surrogates above all other code units: they stand for the code points from U+10000 on. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
