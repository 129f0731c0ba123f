import { expect, test } from 'vitest';
import { bytesOf, floatsOf } from './float-bytes.ts';

test('vectors are read back from bytes at any place of a buffer', () => {
  const values = Float32Array.of(1, -2.5, 3e-7);
  const bytes = bytesOf(values);
  for (const offset of [0, 1, 4, 7]) {
    const pool = Buffer.alloc(64, 255);
    pool.set(bytes, offset);
    const part = pool.subarray(offset, offset + bytes.byteLength);
    expect([...floatsOf(part, 3)]).toEqual([...values]);
    expect([...floatsOf(new Uint8Array(part), 3)]).toEqual([...values]);
  }
  expect(() => floatsOf(bytes, 2)).toThrow(expect.objectContaining({ failure: 'corrupt' }));
});
