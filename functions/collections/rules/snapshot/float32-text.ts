import { withoutTrailingZeros } from './trailing-zeros.ts';

/** Digits that always identify a float32. */
const DIGITS_MAX = 9;
/** Numbers with at most this number of digits before the point are written without an exponent. */
const PLAIN_DIGITS = 7;
const LEADING_ZEROS_MAX = 3;
/** Numbers from this exponent on are scaled by a power of ten that is a whole double, and written without an exponent. */
const PLAIN_EXPONENT_MIN = -4;
const PLAIN_POWERS = [1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4, 1e5];
const PLAIN_MIN = 1e-4;
const PLAIN_END = 1e6;
const SCALES = Array.from({ length: 15 }, (_, power) => 10 ** power);
/** Room for `-1.1754944E-38`, and more. */
const TEXT_MAX = 16;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);
const MANTISSA = 0x7fffff;
/** Far more than the rounding error of a product with at most nine digits. */
const TIE = 2 ** -20;

/**
 * The shortest decimal that reads back as the float32 `value`, as snapshot hashes write vectors: `0.1`, `-0`, `1E-05`,
 * `3.4028235E+38`. Throws a TypeError for a number that is not finite.
 */
export function float32Text(value: number): string {
  const rounded = Math.fround(value);
  if (!Number.isFinite(rounded)) throw new TypeError('a vector holds finite numbers only');
  const sign = rounded < 0 || Object.is(rounded, -0) ? '-' : '';
  if (rounded === 0) return `${sign}0`;
  const { digits, exponent } = shortest(Math.abs(rounded));
  return sign + format(digits, exponent);
}

/** The double that the text of `value` denotes, without making the text. Throws as `float32Text` does. */
export function float32Number(value: number): number {
  const rounded = Math.fround(value);
  const plain = { digits: 0, decimals: 0 };
  if (!findPlain(Math.abs(rounded), plain)) return Number(float32Text(rounded));
  // Both are whole numbers that doubles hold exactly, so the quotient is the nearest double, as for the text.
  const size = plain.digits / SCALES[plain.decimals]!;
  return rounded < 0 ? -size : size;
}

/** The texts of float32 values with commas between them, made much faster than one by one: vectors have hundreds of values. */
export function float32Texts(values: Float32Array): string {
  const bytes = Buffer.allocUnsafe(values.length * (TEXT_MAX + 1));
  const plain = { digits: 0, decimals: 0 };
  let end = 0;
  for (const value of values) {
    if (end > 0) bytes[end++] = COMMA;
    const size = Math.abs(value);
    if (!findPlain(size, plain)) {
      end += bytes.write(float32Text(value), end, 'latin1');
      continue;
    }
    if (value < 0) bytes[end++] = MINUS;
    end = writePlain(bytes, end, plain);
  }
  return bytes.toString('latin1', 0, end);
}

/** The whole number `digits`; its last `decimals` digits are behind the point. */
interface Plain {
  digits: number;
  decimals: number;
}

/** Finds the shortest decimal by double arithmetic. `false`: its text has an exponent, or doubles cannot decide which one is nearest. */
function findPlain(value: number, found: Plain): boolean {
  if (!(value >= PLAIN_MIN && value < PLAIN_END)) return false;
  let exponent = PLAIN_EXPONENT_MIN;
  while (value >= (PLAIN_POWERS[exponent - PLAIN_EXPONENT_MIN + 1] ?? PLAIN_END)) exponent += 1;
  for (let count = SAFE_DIGITS; count <= DIGITS_MAX; count += 1) {
    const decimals = count - 1 - exponent;
    const scale = SCALES[decimals]!;
    const scaled = value * scale;
    const nearest = Math.round(scaled);
    if (Math.abs(scaled - Math.floor(scaled) - 0.5) < TIE) return false;
    if (Math.fround(nearest / scale) === value) {
      found.digits = nearest;
      found.decimals = decimals;
      return true;
    }
    // Next to a power of two a farther decimal may read back although the nearest does not.
    if (count > SAFE_DIGITS && isPowerOfTwo(value)) return false;
  }
  return false;
}

function isPowerOfTwo(value: number): boolean {
  float[0] = value;
  return (bits[0]! & MANTISSA) === 0;
}

/** Returns the place behind the text. */
function writePlain(bytes: Buffer, start: number, { digits, decimals }: Plain): number {
  // `| 0` makes it a 31-bit integer, whose division is far faster than that of doubles.
  let rest = digits | 0;
  let behind = decimals;
  for (; behind > 0 && rest % 10 === 0; behind -= 1) rest = (rest / 10) | 0;
  let whole = 1;
  for (let power = SCALES[behind + 1]!; rest >= power; power *= 10) whole += 1;
  const end = start + whole + (behind === 0 ? 0 : behind + 1);
  let at = end - 1;
  for (let count = 0; count < behind; count += 1, at -= 1) {
    bytes[at] = ZERO + (rest % 10);
    rest = (rest / 10) | 0;
  }
  if (behind > 0) bytes[at--] = POINT;
  for (; at >= start; at -= 1) {
    bytes[at] = ZERO + (rest % 10);
    rest = (rest / 10) | 0;
  }
  return end;
}

/** `d.ddd` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

/** A normal float32 keeps any six digits. So a shorter text is the one of six digits without its zeros. */
const SAFE_DIGITS = 6;
const LEAST_NORMAL = 2 ** -126;

function shortest(value: number): Decimal {
  if (value >= LEAST_NORMAL) {
    const [mantissa = '', exponent = ''] = value.toExponential(SAFE_DIGITS - 1).split('e');
    if (Math.fround(Number(`${mantissa}e${exponent}`)) === value) {
      return { digits: withoutTrailingZeros(mantissa.replace('.', '')), exponent: Number(exponent) };
    }
    return shortestFrom(SAFE_DIGITS + 1, value);
  }
  return shortestFrom(1, value);
}

function shortestFrom(least: number, value: number): Decimal {
  for (let count = least; ; count++) {
    const [mantissa = '', exponent = ''] = value.toExponential(count - 1).split('e');
    const nearest = Number(mantissa.replace('.', ''));
    const unit = Number(exponent) - count + 1;
    // Neighbours are closer below a power of two than above, so a farther decimal may read back although the nearest does not.
    for (const candidate of [nearest, nearest + 1, nearest - 1]) {
      if (Math.fround(Number(`${candidate}e${unit}`)) !== value && count < DIGITS_MAX) continue;
      const text = String(candidate);
      return { digits: withoutTrailingZeros(text), exponent: unit + text.length - 1 };
    }
  }
}

function format(digits: string, exponent: number): string {
  const whole = exponent + 1;
  if (whole > Math.max(digits.length, PLAIN_DIGITS) || whole < -LEADING_ZEROS_MAX) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    const power = String(Math.abs(exponent)).padStart(2, '0');
    return `${digits.slice(0, 1)}${fraction}E${exponent < 0 ? '-' : '+'}${power}`;
  }
  if (whole <= 0) return `0.${'0'.repeat(-whole)}${digits}`;
  const padded = digits.padEnd(whole, '0');
  return padded.length > whole ? `${padded.slice(0, whole)}.${padded.slice(whole)}` : padded;
}
