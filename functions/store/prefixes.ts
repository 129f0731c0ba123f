const lastCodePoint = 0x10_ff_ff;
const surrogates = { from: 0xd8_00, to: 0xdf_ff };

/**
 * The first text, in the order of UTF-8 bytes, after all texts with the prefix; `undefined` when no text follows them.
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === lastCodePoint) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === surrogates.from ? surrogates.to + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}
