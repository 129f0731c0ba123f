import type { Json } from '../../kernel/canonical-json.ts';
import { cutToBytes } from './text-order.ts';

/** Firestore indexes 1,500 bytes: the value, the beginning of an incarnation and the longest order key fit. */
const TEXT_BYTES_MAX = 700;
export type Scalar = string | number | boolean | null;

export function isScalar(value: Json | undefined): value is Scalar {
  return value === null || (value !== undefined && typeof value !== 'object');
}

/**
 * The text under which an index holds a value; `undefined` for a value that is not scalar. The first character names the
 * type, so that values of different types never match. Equal values have equal texts. Long strings may share one, and so may
 * strings with U+0000: they are indexed only up to it, because PostgreSQL cannot store it.
 */
export function indexValue(value: Json | undefined): string | undefined {
  if (!isScalar(value)) return undefined;
  if (value === null) return 'z';
  if (typeof value === 'boolean') return value ? 'b1' : 'b0';
  return typeof value === 'number' ? numberValue(value) : `s${indexedText(value)}`;
}

function indexedText(value: string): string {
  const end = value.indexOf('\0');
  return cutToBytes(end < 0 ? value : value.slice(0, end), TEXT_BYTES_MAX);
}

const bits = new DataView(new ArrayBuffer(8));

/** `n` and 16 hexadecimal digits that sort as the numbers do. Both zeros have one text. */
export function numberValue(value: number): string {
  bits.setFloat64(0, value === 0 ? 0 : value);
  const raw = bits.getBigUint64(0);
  // Invert all bits of a negative number, so that larger magnitudes sort lower, and set the sign bit of a positive one.
  const sortable = raw >> 63n === 1n ? ~raw & 0xffff_ffff_ffff_ffffn : raw | 0x8000_0000_0000_0000n;
  return `n${sortable.toString(16).padStart(16, '0')}`;
}
