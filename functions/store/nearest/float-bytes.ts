import { endianness } from 'node:os';
import { StoreError } from '../port.ts';

const isLittle = endianness() === 'LE';

/** The vector of a row, whose bytes are little-endian float32. */
export function floatsOf(bytes: Uint8Array, dimensions: number): Float32Array {
  if (bytes.byteLength !== 4 * dimensions) {
    throw new StoreError('corrupt', `a vector of ${dimensions} dimensions has ${bytes.byteLength} bytes`);
  }
  if (isLittle && bytes.byteOffset % 4 === 0) {
    return new Float32Array(bytes.buffer, bytes.byteOffset, dimensions);
  }
  // A copy of these bytes alone: the slice of a Buffer would be a view of its pool.
  if (isLittle) return new Float32Array(new Uint8Array(bytes).buffer);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: dimensions }, (_, index) => view.getFloat32(4 * index, true));
}

/** The bytes of a vector as the rows hold them. */
export function bytesOf(values: Float32Array): Uint8Array {
  if (isLittle) return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const bytes = new Uint8Array(values.byteLength);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setFloat32(4 * index, value, true);
  return bytes;
}
