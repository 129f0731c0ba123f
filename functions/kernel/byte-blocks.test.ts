import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { ByteBlocks, gatherBytes, PieceCount, type StreamFault } from './byte-blocks.ts';

const MIB = 1024 * 1024;

/** `bytes` in pieces of `size`. */
function* cut(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

class Refused extends Error {
  readonly fault: StreamFault;
  constructor(fault: StreamFault) {
    super(fault);
    this.fault = fault;
  }
}
const refuse = (fault: StreamFault) => new Refused(fault);

describe('blocks', () => {
  test('hold the bytes of any pieces, in their order', () => {
    const pieces = fc.array(
      fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(new Uint8Array(5_000).fill(7))),
    );
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(30)), (all, looks) => {
        const blocks = new ByteBlocks();
        for (const [at, piece] of all.entries()) {
          blocks.add(piece);
          // A look at the beginning changes nothing.
          if (looks.includes(at)) blocks.whole();
        }
        expect(blocks.size).toBe(all.reduce((sum, { length }) => sum + length, 0));
        expect(blocks.whole().equals(Buffer.concat(all))).toBe(true);
        expect(blocks.take().equals(Buffer.concat(all))).toBe(true);
        expect([blocks.size, blocks.whole().length]).toEqual([0, 0]);
      }),
    );
  });

  test('take one buffer for each 16 KiB of small pieces', () => {
    const made = vi.spyOn(Buffer, 'allocUnsafeSlow');
    const blocks = new ByteBlocks();
    for (const piece of cut(new Uint8Array(MIB), 1)) blocks.add(piece);
    expect(made.mock.calls.length).toBe(64);
    expect(blocks.whole()).toHaveLength(MIB);
  });

  test('write texts one behind the other, and a larger one as it is', () => {
    const texts = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant('ä€😀'.repeat(9))));
    fc.assert(
      fc.property(texts, fc.array(fc.nat(30)), (all, mixed) => {
        const blocks = new ByteBlocks(64);
        for (const [at, text] of all.entries()) {
          if (mixed.includes(at)) blocks.add(Buffer.from(text));
          else blocks.addText(text);
        }
        expect(Buffer.concat(blocks.blocks()).toString()).toBe(Buffer.from(all.join('')).toString());
        expect(blocks.size).toBe(Buffer.concat(blocks.blocks()).length);
      }),
    );
  });

  test('copy no piece that is the whole stream', () => {
    const blocks = new ByteBlocks();
    const piece = Buffer.from('{"a":1}');
    blocks.add(piece);
    expect(blocks.whole().buffer).toBe(piece.buffer);
  });
});

describe('a stream that is gathered', () => {
  test.each([128, 1_000, 64 * 1024])('comes in pieces of %i bytes', async (size) => {
    const bytes = new Uint8Array(MIB).fill(1);
    expect((await gatherBytes(cut(bytes, size), MIB, refuse)).equals(bytes)).toBe(true);
  });

  test('is read on only when it is its turn again', async () => {
    let read = 0;
    let waiting = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    function* stream() {
      for (const piece of cut(new Uint8Array(MIB), 64 * 1024)) {
        read += 1;
        yield piece;
      }
    }
    const next = () => {
      begun.resolve();
      return waiting.promise;
    };
    const gathered = gatherBytes(stream(), MIB, refuse, { due: () => read % 4 === 0, next });
    await Promise.race([begun.promise, gathered]);
    expect(read).toBe(4);
    const held = waiting;
    waiting = Promise.withResolvers();
    waiting.resolve();
    held.resolve();
    expect(await gathered).toHaveLength(MIB);
  });

  test('may have 2,048 pieces of any size', async () => {
    expect(await gatherBytes(cut(new Uint8Array(2_048), 1), MIB, refuse)).toHaveLength(2_048);
  });

  test.each([
    ['one byte more than it may', new Uint8Array(101), 50, 100, 'bytes'],
    ['more pieces than its bytes are worth', new Uint8Array(MIB), 1, MIB, 'pieces'],
  ] as const)('is refused where it has %s, and not read on', async (_, bytes, size, most, fault) => {
    let read = 0;
    async function* stream() {
      for (const piece of cut(bytes, size)) {
        read += 1;
        yield piece;
      }
    }
    await expect(gatherBytes(stream(), most, refuse)).rejects.toMatchObject({ fault });
    expect(read).toBeLessThan(2_100);
  });
});

test('a count of pieces forgives small ones for the bytes of large ones', () => {
  const pieces = new PieceCount(1);
  const passed = [0, 640, ...Array<number>(4).fill(0), 0].map((bytes) => pieces.passed(bytes));
  expect(passed).toEqual([...Array<boolean>(6).fill(true), false]);
});
