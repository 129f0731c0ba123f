import { describe, expect, test } from 'vitest';
import { sha256 } from '../kernel/canonical-json.ts';
import { BytesInFlight } from './bytes-in-flight.ts';
import { receiveBytes } from './receive-bytes.ts';

const KIB = 1024;
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
    const bytes = new BytesInFlight(8 * KIB);
    const [first, second, other] = [bytes.lease('a'), bytes.lease('a'), bytes.lease('b')];
    first.take(3 * KIB);
    second.take(KIB);
    expect(() => second.take(1)).toThrow(busy);
    other.take(4 * KIB);
    const third = bytes.lease('c');
    expect(() => third.take(1)).toThrow(busy);
    first.release();
    first.release();
    third.take(3 * KIB);
    expect(bytes.total).toBe(8 * KIB);
    for (const lease of [second, other, third]) lease.release();
    expect(bytes.total).toBe(0);
  });

  test('never refuse a call that is alone', () => {
    const bytes = new BytesInFlight(KIB);
    const lease = bytes.lease('a');
    lease.take(5 * KIB);
    lease.take(5 * KIB);
    expect(() => bytes.lease('a').take(1)).toThrow(busy);
    expect(() => bytes.lease('b').take(1)).toThrow(busy);
    lease.release();
    bytes.lease('b').take(5 * KIB);
  });

  test('are counted while a body arrives, twice while it is joined', async () => {
    const bytes = new BytesInFlight(1024 * KIB);
    const seen: number[] = [];
    async function* watched() {
      for (let chunk = 0; chunk < 3; chunk += 1) {
        seen.push(bytes.total);
        yield new Uint8Array(KIB);
      }
    }
    const lease = bytes.lease('s');
    await receiveBytes({ body: watched(), bytesMax: 8 * KIB, lease });
    expect([...seen, bytes.total]).toEqual([0, KIB, 2 * KIB, 6 * KIB]);
    lease.release();
    const known = bytes.lease('s');
    await receiveBytes({ body: body(KIB, KIB), declaredBytes: 2 * KIB, bytesMax: 8 * KIB, lease: known });
    expect(bytes.total).toBe(2 * KIB);
  });
});
