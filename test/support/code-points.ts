import * as fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/**
 * Any code point but half a surrogate pair, as the unit of `fc.string`. It stands in for the unit `binary` of fast-check, which
 * builds a table of a million entries in each process: more than a second of processor time.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES));
