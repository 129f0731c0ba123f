import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from './errors.ts';
import { isExact } from './exact-numbers.ts';
import { parsePacedJson } from './paced-json.ts';
import { parseStrictJsonText, strictJsonLimits } from './strict-json.ts';
import { UNDISTURBED } from './turns.ts';

/** The value of a literal as a fraction of whole numbers, by the grammar of JSON alone. */
function fractionOf(literal: string): readonly [numerator: bigint, denominator: bigint] {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const exponent = Number(power) - fraction.length;
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
  return exponent < 0 ? [digits, 10n ** BigInt(-exponent)] : [digits * 10n ** BigInt(exponent), 1n];
}

/** Whether two literals have one value. */
function isEqual(left: string, right: string): boolean {
  const [a, b] = fractionOf(left);
  const [c, d] = fractionOf(right);
  return a * d === c * b;
}

function pointerOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'malformed_request') throw error;
    return error.extensions.errors?.[0]?.pointer ?? 'without a pointer';
  }
}

const digits = (most: number): fc.Arbitrary<string> =>
  fc.stringMatching(/^\d+$/).map((text) => text.slice(0, most));
const long = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 25 })
  .map((all) => all.join(''));
const literals = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      long.map((all) => all.replace(/^0+(?=\d)/, '')),
    ),
    fc.oneof(
      fc.constant(''),
      fc.oneof(long, digits(3)).map((all) => (all === '' ? '' : `.${all}`)),
    ),
    fc.oneof(
      fc.constant(''),
      fc
        .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.oneof(fc.nat(40), fc.nat(330)))
        .map((parts) => parts.join('')),
    ),
  )
  .map((parts) => parts.join(''));
/** Doubles as others write them: shortest, with 17 digits, in full, with zeros behind. */
const written = fc
  .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(5))
  .map(([value, way]) => {
    const texts = [String(value), value.toPrecision(17), value.toExponential(16), value.toPrecision(16)];
    texts.push(
      value.toExponential(20),
      value
        .toExponential()
        .replace('e', '00e')
        .replace(/^(-?\d)00/, '$1.00'),
    );
    return texts[way] ?? '0';
  });

describe('a number is exact where its decimal is that of the shortest text of its double', () => {
  test('by fractions of whole numbers, for random decimals', () => {
    const seen = new Set<boolean>();
    fc.assert(
      fc.property(fc.oneof(literals, written), (literal) => {
        fc.pre(Number.isFinite(Number(literal)));
        const isInteger = /^-?\d+$/.test(literal);
        const equal = isEqual(literal, String(Number(literal)));
        const value = Number(literal);
        // A large integer is spelled as canonical JSON spells it.
        const wanted = isInteger ? Number.isSafeInteger(value) || String(value) === literal : equal;
        seen.add(wanted);
        expect(isExact(literal)).toBe(wanted);
        expect(pointerOf(() => parseStrictJsonText(`{"a":[0,{"b/c":${literal}}]}`))).toBe(
          wanted ? null : '/a/1/b~1c',
        );
      }),
      { seed: 34, numRuns: 20_000 },
    );
    expect(seen.size).toBe(2);
  });

  test.each([
    '0.10 1.0 1e2 1E+2 -0.0 -0 0e999 5e-324 1.7976931348623157e308 0.30000000000000004 9007199254740991.0',
    '100000000000000000000 1e21 123.456e78 0.1000000000000000000000 2.50e-05 9007199254740992.0 12345678901234567e3',
  ])('pass: %s', (numbers) => {
    for (const literal of numbers.split(' ')) expect(parseStrictJsonText(literal)).toBe(Number(literal));
  });

  test.each(
    (
      '9007199254740993.0 0.1234567890123456789 1e-400 9007199254740993 9007199254740993e0 -0.1e-9999 4.94e-324 ' +
      '0.10000000000000001 1.0000000000000000001 1.7976931348623158e308 2.4e-324 9007199254740993.00 12345678901234567890e3'
    ).split(' '),
  )('refused: %s', (literal) => {
    expect(pointerOf(() => parseStrictJsonText(`[${literal}]`))).toBe('/0');
    expect(pointerOf(() => parseStrictJsonText(literal))).toBe('');
  });

  test('a number that overflows is refused among floats too', () => {
    for (const literal of [
      '1e999',
      '-1e400',
      '9'.repeat(400),
      `${'9'.repeat(400)}.0`,
      `1${'0'.repeat(250)}e99`,
    ])
      expect(() => parseStrictJsonText(`[${literal}]`, { ...strictJsonLimits, floats: ['/*'] })).toThrow(
        'too large',
      );
  });

  test('a number that overflows is named before others, and wherever it stands', () => {
    const text = '{"a":[0.1234567890123456789,9007199254740993],"records":[{},{"v":[1,1e999]}]}';
    expect(pointerOf(() => parseStrictJsonText(text))).toBe('/records/1/v/1');
    const floats = ['/records/*/v/*'];
    expect(pointerOf(() => parseStrictJsonText(text, { ...strictJsonLimits, floats }))).toBe(
      '/records/1/v/1',
    );
  });
});

describe('members that hold floats round', () => {
  const floats = ['/records/*/vectors/*/values/*', '/a~1b/minScore', '/all/**'];
  const most = { ...strictJsonLimits, floats };
  const at = (text: string, options = most): string | null =>
    pointerOf(() => parseStrictJsonText(text, options));
  const bad = '0.1234567890123456789';

  test('at their place and nowhere else', () => {
    expect(at(`{"records":[{"vectors":{"v":{"values":[1,${bad},1e-400]}},"n":1}]}`)).toBeNull();
    expect(at('{"records":[{"vectors":{"v":{"values":[1e-400,9007199254740993]}}}]}')).toBe(
      '/records/0/vectors/v/values/1',
    );
    expect(at(`{"all":{"x":[{"y":${bad}}]}}`)).toBeNull();
    expect(at(`{"records":[{},{"vectors":{"v":{"dimensions":${bad}}}}]}`)).toBe(
      '/records/1/vectors/v/dimensions',
    );
    expect(at(`{"records":[{"metadata":{"vectors":{"v":{"values":[${bad}]}}}}]}`)).toBe(
      '/records/0/metadata/vectors/v/values/0',
    );
    expect(at(`{"records":[{"vectors":{"v":{"values":[0.5]}}},[[1,2],3,${bad}]]}`)).toBe('/records/1/2');
    expect(at(`{"s":"\\\\\\"{[","a":[1,{"\\u0078~\\"":"]}",",":2}], "c" : [ ${bad} ]}`)).toBe('/c/0');
    expect(at(`{"x":{"\\u0078~":${bad}}}`)).toBe('/x/x~0');
    expect(at(`{"records":{"0":{"vectors":[{"values":{"a":${bad}}}]}}}`)).toBeNull();
    expect(at(`[${bad}]`, { ...most, floats: [''] })).toBe('/0');
    expect(at(bad, { ...most, floats: [''] })).toBeNull();
  });

  test('also where a body is read in parts', async () => {
    const vector = `[${Array.from({ length: 3_000 }, (_, n) => `0.1234567890123456789${n}`).join(', ')}]`;
    const record = (more: string): string => `{"vectors":{"v":{"values":${vector}}},"s":"\\",[{"${more}}`;
    const body = (last: string): string =>
      `{"first":1,"records":[${[...Array.from({ length: 20 }, () => record('')), record(last)].join(',')}],"z":[1,2]}`;
    const read = (text: string): Promise<unknown> => {
      const bytes = Buffer.from(text);
      const blocks = [0, 1, 2, 3].map((n) =>
        bytes.subarray((n * bytes.length) / 4, ((n + 1) * bytes.length) / 4),
      );
      const itemMax = { itemMembersMax: 100_000, itemContainersMax: 100_000 };
      return parsePacedJson(blocks, { ...most, ...itemMax }, UNDISTURBED);
    };
    expect(await read(body(''))).toStrictEqual(JSON.parse(body('')));
    await expect(read(body(`,"m":{"n":[1,${bad}]}`))).rejects.toMatchObject({
      code: 'malformed_request',
      extensions: { errors: [{ pointer: '/records/20/m/n/1' }] },
    });
    // One long item gives others their turn too.
    let turns = 0;
    const counted = { due: () => true, next: () => Promise.resolve(void (turns += 1)) };
    const turnsFor = async (number: string): Promise<number> => {
      turns = 0;
      const item = Buffer.from(`[[${`${number},`.repeat(10_000)}0]]`);
      const itemMax = { itemMembersMax: 10, itemContainersMax: 10 };
      await parsePacedJson([item], { ...strictJsonLimits, ...itemMax }, counted);
      return turns;
    };
    const short = await turnsFor('0.12345678901234');
    expect(await turnsFor('0.12345678901234568')).toBeGreaterThan(short + 8);
    await expect(read(body('').replace('[1,2]', `[1,${bad}]`))).rejects.toMatchObject({
      extensions: { errors: [{ pointer: '/z/1' }] },
    });
    await expect(read(body('').replace('"first":1', `"first":${bad}`))).rejects.toMatchObject({
      extensions: { errors: [{ pointer: '/first' }] },
    });
  });
});
