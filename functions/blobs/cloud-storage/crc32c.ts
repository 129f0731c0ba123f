/** The reversed polynomial of CRC-32C (Castagnoli). Node brings the other CRC-32 only. */
const POLYNOMIAL = 0x82f63b78;

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? POLYNOMIAL : 0);
  return value;
});

/** As Cloud Storage writes it: four bytes, the highest first, in base64. */
export function crc32c(bytes: Uint8Array): string {
  let value = -1;
  // A loop by index is six times as fast over 16 MiB as one by iterator, and it blocks all other work.
  for (let at = 0; at < bytes.length; at++) {
    value = (value >>> 8) ^ (table[(value ^ (bytes[at] ?? 0)) & 255] ?? 0);
  }
  const text = Buffer.alloc(4);
  text.writeInt32BE(~value);
  return text.toString('base64');
}
