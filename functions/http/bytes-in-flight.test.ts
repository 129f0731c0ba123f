import { expect, test } from 'vitest';
import { createBytesInFlight } from './bytes-in-flight.ts';

const MiB = 1024 * 1024;
const limits = { perProcess: 8 * MiB, perCaller: 4 * MiB };

test('a caller that holds too many bytes is refused, and others are not', () => {
  const bytes = createBytesInFlight(limits);
  const first = bytes.open('a');
  first.take(3 * MiB);
  expect(() => bytes.open('a').take(2 * MiB)).toThrow(
    expect.objectContaining({ code: 'rate_limited', extensions: { retryAfterSeconds: 1 } }),
  );
  bytes.open('b').take(2 * MiB);
  expect(bytes.total).toBe(5 * MiB);
  first.release();
  bytes.open('a').take(2 * MiB);
  expect(bytes.total).toBe(4 * MiB);
});

test('callers that hold too many bytes together are refused', () => {
  const bytes = createBytesInFlight(limits);
  for (const caller of ['a', 'b']) bytes.open(caller).take(4 * MiB);
  expect(() => bytes.open('c').take(MiB)).toThrow(
    expect.objectContaining({ code: 'unavailable', extensions: { retryAfterSeconds: 1 } }),
  );
});

test('a small request is never refused, and a request alone may be as large as its operation allows', () => {
  const bytes = createBytesInFlight(limits);
  bytes.open('b').take(1000);
  const large = bytes.open('a');
  large.take(20 * MiB);
  large.take(20 * MiB);
  bytes.open('a').take(60 * 1024);
  expect(bytes.total).toBe(40 * MiB);
});

test('the answer of finished work is counted and not refused, and a release is complete', () => {
  const bytes = createBytesInFlight(limits);
  const flights = Array.from({ length: 10 }, () => bytes.open('a'));
  for (const flight of flights) {
    flight.count(40 * 1024);
    flight.count(MiB);
  }
  expect(bytes.total).toBe(10 * (MiB + 40 * 1024));
  for (const flight of flights) {
    flight.release();
    flight.release();
  }
  expect(bytes.total).toBe(0);
});
