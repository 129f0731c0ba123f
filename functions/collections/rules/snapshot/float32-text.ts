import { withoutTrailingZeros } from './trailing-zeros.ts';

/** Digits that always suffice to name a float32. */
const DIGITS_MAX = 9;
/** Numbers of so many digits before the point are written plainly, shorter ones too. */
const PLAIN_DIGITS = 7;
const LEADING_ZEROS_MAX = 3;

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

/** `d.ddd` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

function shortest(value: number): Decimal {
  for (let count = 1; ; count++) {
    const [mantissa = '', exponent = ''] = value.toExponential(count - 1).split('e');
    const nearest = Number(mantissa.replace('.', ''));
    const unit = Number(exponent) - count + 1;
    // Below a power of two the neighbours lie closer than above, so the nearest decimal may miss where a farther one fits.
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
