import { describe, expect, test } from 'vitest';
import { sha256 } from '../kernel/canonical-json.ts';
import { BytesInFlight } from './bytes-in-flight.ts';
import { receiveBytes } from './receive-bytes.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** A call that holds no more is never refused. */
const SMALL = 64 * KIB;
const busy = expect.objectContaining({ code: 'unavailable', extensions: { retryAfterSeconds: 1 } });
const tooLarge = expect.objectContaining({ code: 'payload_too_large' });
const malformed = expect.objectContaining({ code: 'malformed_request' });

async function* body(...sizes: number[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, size] of sizes.entries()) yield new Uint8Array(size).fill(index + 1);
}

const receiving = (sizes: number[], declaredBytes: number | null, bytes = new BytesInFlight(64 * KIB)) =>
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
    const bytes = new BytesInFlight(64 * KIB);
    const lease = bytes.lease('s');
    const received = await receiveBytes({ body: body(...sizes), roomBytes, bytesMax: 8 * KIB, lease });
    expect(Buffer.compare(Buffer.from(received.bytes), expected)).toBe(0);
    expect(received.contentHash).toBe(sha256(expected));
    expect(bytes.total).toBe(Math.min(roomBytes, 8 * KIB));
  });

  test.each([
    [[8 * KIB, 1], 64 * KIB],
    [[5], 4],
  ])('of chunks %j beyond %j bytes are refused', async (sizes, roomBytes) => {
    const lease = new BytesInFlight(64 * KIB).lease('s');
    const given = { body: body(...sizes), roomBytes, bytesMax: 8 * KIB, lease };
    await expect(receiveBytes(given)).rejects.toEqual(tooLarge);
  });

  test('are read no further once they are refused', async () => {
    let read = 0;
    async function* counted() {
      for (; ; read += 1) yield new Uint8Array(KIB);
    }
    const lease = new BytesInFlight(64 * KIB).lease('s');
    await expect(receiveBytes({ body: counted(), bytesMax: 3 * KIB, lease })).rejects.toEqual(tooLarge);
    expect(read).toBe(3);
  });
});

describe('bytes in flight', () => {
  test('leave half of the process to other spaces', () => {
    const bytes = new BytesInFlight(8 * MIB);
    const [first, second, other] = [bytes.lease('a'), bytes.lease('a'), bytes.lease('b')];
    first.take(3 * MIB);
    second.take(MIB);
    expect(() => second.take(SMALL + 1)).toThrow(busy);
    other.take(4 * MIB);
    const third = bytes.lease('c');
    expect(() => third.take(SMALL + 1)).toThrow(busy);
    first.release();
    first.release();
    third.take(3 * MIB);
    expect(bytes.total).toBe(8 * MIB);
    for (const lease of [second, other, third]) lease.release();
    expect(bytes.total).toBe(0);
  });

  test('never refuse a small object', () => {
    const bytes = new BytesInFlight(MIB);
    bytes.lease('a').take(MIB);
    const small = bytes.lease('a');
    small.take(SMALL);
    expect(() => small.take(1)).toThrow(busy);
    bytes.lease('b').take(SMALL);
  });

  test('never refuse a call that is alone', () => {
    const bytes = new BytesInFlight(MIB);
    const lease = bytes.lease('a');
    lease.take(5 * MIB);
    lease.take(5 * MIB);
    expect(() => bytes.lease('a').take(SMALL + 1)).toThrow(busy);
    expect(() => bytes.lease('b').take(SMALL + 1)).toThrow(busy);
    lease.release();
    bytes.lease('b').take(5 * MIB);
  });

  test('are counted while a body arrives, twice while it is joined', async () => {
    const bytes = new BytesInFlight(1024 * KIB);
    const seen: number[] = [];
    async function* watched() {
      for (let chunk = 0; chunk < 3 * 64; chunk += 1) {
        if (chunk % 64 === 0) seen.push(bytes.total);
        yield new Uint8Array(KIB).fill(chunk);
      }
    }
    const lease = bytes.lease('s');
    const received = await receiveBytes({ body: watched(), bytesMax: 8 * MIB, lease });
    expect([...seen, bytes.total]).toEqual([0, SMALL, 2 * SMALL, 7 * SMALL]);
    expect(received.bytes).toEqual(
      Buffer.concat(Array.from({ length: 192 }, (_, n) => Buffer.alloc(KIB, n))),
    );
    lease.release();
    const known = bytes.lease('s');
    await receiveBytes({ body: body(KIB, KIB), declaredBytes: 2 * KIB, bytesMax: 8 * KIB, lease: known });
    expect(bytes.total).toBe(2 * KIB);
  });
});
