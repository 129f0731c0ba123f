import { describe, expect, test } from 'vitest';
import { sha256 } from '../kernel/canonical-json.ts';
import { ObjectMemory } from './object-memory.ts';
import { receiveBytes } from './receive-bytes.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SMALL = 64 * KIB;
const busy = expect.objectContaining({ code: 'unavailable', extensions: { retryAfterSeconds: 1 } });
const tooLarge = expect.objectContaining({ code: 'payload_too_large' });
const bytesOf = (bytesMax: number) => new ObjectMemory(bytesMax, bytesMax / 2, { now: () => 0 });
const malformed = expect.objectContaining({ code: 'malformed_request' });

async function* body(...sizes: number[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, size] of sizes.entries()) yield new Uint8Array(size).fill(index + 1);
}

const receiving = (sizes: number[], declaredBytes: number | null, bytes = bytesOf(64 * KIB)) =>
  receiveBytes({ body: body(...sizes), declaredBytes, bytesMax: 8 * KIB, lease: bytes.lease('s') });

describe('the bytes of a body', () => {
  test.each([
    [[], null],
    [[], 0],
    [[5], null],
    [[5], 5],
    [[5, 0, KIB], null],
    [[5, 0, KIB], KIB + 5],
    [[8 * KIB], 8 * KIB],
  ])('of chunks %j and declared as %j arrive whole', async (sizes, declared) => {
    const expected = Buffer.concat(sizes.map((size, index) => new Uint8Array(size).fill(index + 1)));
    const { bytes, contentHash } = await receiving(sizes, declared);
    expect(Buffer.compare(Buffer.from(bytes), expected)).toBe(0);
    expect(contentHash).toBe(sha256(expected));
  });

  test.each([
    [[8 * KIB, 1], null, tooLarge],
    [[1], 8 * KIB + 1, tooLarge],
    [[5, 1], 5, malformed],
    [[4], 5, malformed],
  ])('of chunks %j and declared as %j are refused', async (sizes, declared, refusal) => {
    await expect(receiving(sizes, declared)).rejects.toEqual(refusal);
  });

  test.each([
    [[], 0],
    [[5], 5],
    [[5, 7], KIB],
    [[8 * KIB], 64 * KIB],
  ])('of chunks %j within %j bytes arrive whole, without a second copy', async (sizes, roomBytes) => {
    const expected = Buffer.concat(sizes.map((size, index) => new Uint8Array(size).fill(index + 1)));
    const bytes = bytesOf(64 * KIB);
    const lease = bytes.lease('s');
    const received = await receiveBytes({ body: body(...sizes), roomBytes, bytesMax: 8 * KIB, lease });
    expect(Buffer.compare(Buffer.from(received.bytes), expected)).toBe(0);
    expect(received.contentHash).toBe(sha256(expected));
    // The lease holds only the received bytes, not the larger room that was reserved for them.
    expect(bytes.total).toBe(received.bytes.byteLength);
  });

  test.each([
    [[8 * KIB, 1], 64 * KIB],
    [[5], 4],
  ])('of chunks %j beyond %j bytes are refused', async (sizes, roomBytes) => {
    const lease = bytesOf(64 * KIB).lease('s');
    const given = { body: body(...sizes), roomBytes, bytesMax: 8 * KIB, lease };
    await expect(receiveBytes(given)).rejects.toEqual(tooLarge);
  });

  test('are read no further once they are refused', async () => {
    let read = 0;
    async function* counted() {
      for (; ; read += 1) yield new Uint8Array(KIB);
    }
    const lease = bytesOf(64 * KIB).lease('s');
    await expect(receiveBytes({ body: counted(), bytesMax: 3 * KIB, lease })).rejects.toEqual(tooLarge);
    expect(read).toBe(3);
  });
});

describe('the bytes of an upload', () => {
  test('are counted in steps as they arrive, with any declared size, and once in the end', async () => {
    for (const declaredBytes of [null, 8 * MIB]) {
      const bytes = bytesOf(64 * MIB);
      const seen: number[] = [];
      async function* watched() {
        for (let at = 0; at < 8 * MIB; at += SMALL) {
          seen.push(bytes.total);
          yield new Uint8Array(SMALL).fill(at / SMALL);
        }
      }
      const lease = bytes.lease('s');
      const received = await receiveBytes({ body: watched(), declaredBytes, bytesMax: 8 * MIB, lease });
      for (const [at, total] of seen.entries()) {
        expect(total).toBeGreaterThanOrEqual(at * SMALL);
        expect(total).toBeLessThanOrEqual(Math.min(2 * at * SMALL, at * SMALL + MIB));
      }
      expect(bytes.total).toBe(8 * MIB);
      expect(received.contentHash).toBe(
        sha256(Buffer.concat(Array.from({ length: 128 }, (_, n) => Buffer.alloc(SMALL, n)))),
      );
      lease.release();
      expect(bytes.total).toBe(0);
    }
  });

  test('go at once where others need them, also while the upload waits for more', async () => {
    let now = 0;
    const bytes = new ObjectMemory(4 * MIB, 2 * MIB, { now: () => now });
    bytes.lease('first').begin(MIB, () => undefined);
    const waits = Promise.withResolvers<void>();
    let isClosed = false;
    async function* slow() {
      try {
        yield new Uint8Array(2 * MIB);
        waits.resolve();
        await new Promise(() => undefined);
      } finally {
        isClosed = true;
      }
    }
    const lease = bytes.lease('slow');
    const given = { body: slow(), declaredBytes: 2 * MIB + 1, bytesMax: 3 * MIB, lease };
    const upload = expect(receiveBytes(given)).rejects.toEqual(busy);
    await waits.promise;
    expect(bytes.total).toBe(2 * MIB);
    now += 60_000;
    bytes.lease('other').take(3 * MIB);
    await upload;
    expect(bytes.total).toBe(3 * MIB);
    lease.release();
    expect([bytes.total, isClosed]).toEqual([3 * MIB, false]);
  });
});
