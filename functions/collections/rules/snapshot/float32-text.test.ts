import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { float32Number, float32Text, float32Texts } from './float32-text.ts';
import { normalTime } from './wire-time.ts';

const floats = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -149, max: 127 }).map((exponent) => 2 ** exponent),
  fc.integer({ min: -20_000_000, max: 20_000_000 }),
);

describe('the text of a float32', () => {
  test.each([
    [0, '0'],
    [-0, '-0'],
    [1, '1'],
    [-60, '-60'],
    [0.1, '0.1'],
    [0.30000001, '0.3'],
    [1 / 3, '0.33333334'],
    [123456.79, '123456.79'],
    [1_000_000, '1000000'],
    [10_000_000, '1E+07'],
    [12_345_678, '12345678'],
    [16_777_216, '16777216'],
    [123_456_790, '1.2345679E+08'],
    [0.0001, '0.0001'],
    [0.00012, '0.00012'],
    [0.00001, '1E-05'],
    [-1.5e-7, '-1.5E-07'],
    [3.4028234663852886e38, '3.4028235E+38'],
    [1.401298464324817e-45, '1E-45'],
    [1.1754943508222875e-38, '1.1754944E-38'],
    [2 ** -103, '9.8607613E-32'],
    [2 ** -96, '1.2621775E-29'],
    [2 ** 87, '1.5474251E+26'],
  ])('of %d is %s', (value, text) => {
    expect(float32Text(value)).toBe(text);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e39])('does not exist for %d', (value) => {
    expect(() => float32Text(value)).toThrow(TypeError);
  });

  /** The digits, without the sign, the point, the exponent and outer zeros. */
  const digitsOf = (text: string) =>
    text.replace(/E.*/, '').replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '');

  /** The fault of `text` as the shortest text of `value`. */
  function faultOf(value: number, text: string): string | null {
    const rounded = Math.fround(value);
    if (!Object.is(Math.fround(Number(text)), rounded)) return 'reads back as another number';
    if (rounded === 0) return null;
    const count = digitsOf(text).length;
    if (count < 2) return null;
    // With one digit less: the next decimals below and above the value.
    const [mantissa = '', exponent = ''] = Math.abs(rounded).toExponential(20).split('e');
    const lower = BigInt(mantissa.replace('.', '').slice(0, count - 1));
    const shorter = [lower, lower + 1n].map((digits) => Number(`${digits}e${Number(exponent) - count + 2}`));
    return shorter.some((each) => Math.fround(each) === Math.abs(rounded)) ? 'is not the shortest' : null;
  }

  const isRight = (text: (value: number) => string) =>
    !fc.check(
      fc.property(floats, (value) => faultOf(value, text(value)) === null),
      { numRuns: 20_000 },
    ).failed;

  test('is the shortest that reads back', () => {
    expect(isRight(float32Text)).toBe(true);
  });

  test('is the same where many are printed together', () => {
    fc.assert(
      fc.property(fc.array(floats), (values) => {
        const given = Float32Array.from(values);
        expect(float32Texts(given)).toBe(Array.from(given, float32Text).join(','));
      }),
      { numRuns: 2_000 },
    );
  });

  test('reads as the number', () => {
    const tiny = fc.float({ noNaN: true, min: -1, max: 1 });
    fc.assert(
      fc.property(fc.oneof(floats, tiny, fc.double({ min: -1, max: 1, noNaN: true })), (value) => {
        expect(float32Number(value)).toBe(Number(float32Text(value)));
      }),
      { numRuns: 20_000 },
    );
    expect(() => float32Number(Number.NaN)).toThrow(TypeError);
  });

  test.each([0.0001, 0.00011, 0.099999994, 9.999999, 999_999.94, 1_000_000, 100, 0.5, -0.001, -0])(
    '%d is printed alike among others',
    (value) => {
      const given = Float32Array.of(1, value, 2);
      expect(float32Texts(given)).toBe(Array.from(given, float32Text).join(','));
    },
  );

  test('the comparison rejects nine digits, six digits and the text of the double', () => {
    expect(isRight((value) => Math.fround(value).toPrecision(9))).toBe(false);
    expect(isRight((value) => Math.fround(value).toPrecision(6))).toBe(false);
    expect(isRight((value) => String(Math.fround(value)))).toBe(false);
  });
});

describe('the normal form of a time', () => {
  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02t03:04:05.120z', '2026-01-02T03:04:05.12Z'],
    ['2026-01-01T00:30:00.5+01:00', '2025-12-31T23:30:00.5Z'],
    ['2026-01-02T03:04:05.123456789-00:30', '2026-01-02T03:34:05.1234567Z'],
    ['2026-01-02', '2026-01-02'],
    ['yesterday', 'yesterday'],
    ['2026-13-02T03:04:05Z', '2026-13-02T03:04:05Z'],
  ])('of %s is %s', (text, normal) => {
    expect(normalTime(text)).toBe(normal);
    expect(normalTime(normal)).toBe(normal);
  });
});
