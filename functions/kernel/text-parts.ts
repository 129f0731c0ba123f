import { textOf } from './strict-json.ts';

const PART_BYTES = 32 * 1024;

/** Decodes UTF-8 blocks into parts of whole characters. Throws if the bytes are not UTF-8. */
export function* textParts(blocks: Iterable<Uint8Array>): Generator<string, void, undefined> {
  let cut: Uint8Array = new Uint8Array();
  for (const block of blocks) {
    for (let at = 0; at < block.length; at += PART_BYTES) {
      const part = block.subarray(at, at + PART_BYTES);
      const bytes = cut.length === 0 ? part : Buffer.concat([cut, part]);
      const end = endOfCharacters(bytes);
      cut = bytes.subarray(end);
      yield textOf(bytes.subarray(0, end));
    }
  }
  // The last character is incomplete: decode it to throw.
  if (cut.length > 0) textOf(cut);
}

/** The position after the last complete character. */
function endOfCharacters(bytes: Uint8Array): number {
  for (let back = 1; back < 4 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) return sizeOf(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The length of the character that begins with this byte. */
function sizeOf(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}
