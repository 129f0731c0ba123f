const FLOAT_BYTES = 4;

/** Numbers in single precision as base64 of their bytes, little-endian. */
export function vectorText(values: ArrayLike<number>): string {
  const bytes = Buffer.alloc(values.length * FLOAT_BYTES);
  for (let at = 0; at < values.length; at += 1) bytes.writeFloatLE(values[at] ?? 0, at * FLOAT_BYTES);
  return bytes.toString('base64');
}

export function vectorOfText(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  return Float32Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) =>
    bytes.readFloatLE(at * FLOAT_BYTES),
  );
}
