import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { textParts } from './text-parts.ts';

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  let at = 0;
  const blocks = sizes.map((size) => bytes.subarray(at, (at += size)));
  return [...blocks, bytes.subarray(at)];
}

const sizes = fc.array(fc.integer({ min: 0, max: 5 }));

test('blocks that are cut anywhere hold the text of the whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), sizes, (text, cuts) => {
      const parts = [...textParts(cut(Buffer.from(text), cuts))];
      expect(parts.join('')).toBe(text);
      expect(parts.every((part) => part.isWellFormed())).toBe(true);
    }),
  );
});

test('blocks are refused where the whole is not UTF-8', () => {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const byte = fc.constantFrom(
    0x61,
    0x80,
    0xbf,
    0xc3,
    0xe2,
    0x82,
    0xac,
    0xed,
    0xa0,
    0xf0,
    0x9f,
    0x98,
    0xf4,
    0xff,
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 8 }), sizes, (given, cuts) => {
      const bytes = Uint8Array.from(given);
      const read = (work: () => string) => {
        try {
          return work();
        } catch {
          return null;
        }
      };
      expect(read(() => [...textParts(cut(bytes, cuts))].join(''))).toBe(read(() => utf8.decode(bytes)));
    }),
    { numRuns: 5_000 },
  );
});

test('a large block comes in parts of 32 KiB', () => {
  const parts = [...textParts([Buffer.from('é'.repeat(50_000))])];
  expect(parts.map(({ length }) => length)).toEqual([16_384, 16_384, 16_384, 848]);
});
