import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { share } from '../../test/support/effort.ts';
import type { Json } from './canonical-json.ts';
import { countedInSteps, parsedInSteps } from './parsed-in-steps.ts';
import { countMembers } from './strict-json.ts';
import { finished } from './turns.ts';

const runs = { numRuns: share(2_000, 50_000) };
const names = fc.constantFrom('a', 'b', '1', '0', '', 'a"', 'é\\', '{', ',');
const scalars = fc.constantFrom('1', '-1e2', '"x"', '"}"', '"\\""', '"\\\\"', 'true', 'null', '[]', '{}');
const spaces = fc.constantFrom('', '', '', ' ', '\n\t');

/** JSON texts with white space, and with members that an object names twice. */
const texts: fc.Arbitrary<string> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalars, tie('array'), tie('object')),
  array: fc
    .tuple(spaces, fc.array(tie('value'), { maxLength: 5 }))
    .map(([space, items]) => `[${space}${items.join(`${space},${space}`)}${space}]`),
  object: fc
    .tuple(spaces, fc.array(fc.tuple(names, tie('value')), { maxLength: 5 }))
    .map(([space, members]) => {
      const written = members.map(
        ([name, value]) => `${JSON.stringify(name)}${space}:${space}${String(value)}`,
      );
      return `{${space}${written.join(`,${space}`)}${space}}`;
    }),
})).value as fc.Arbitrary<string>;

const steps = fc.integer({ min: 1, max: 12 });

function outcomeOf(parse: () => unknown): unknown {
  try {
    // Its text has the order of the members, too.
    return JSON.stringify(parse());
  } catch (error) {
    return (error as Error).name;
  }
}

const inSteps = (text: string, step: number) => finished(countedInSteps(text, () => 0, step)).value;

describe('a text that is parsed in steps', () => {
  test('has the same value as in one step', () => {
    fc.assert(
      fc.property(texts, steps, (text, step) => {
        expect(JSON.stringify(inSteps(text, step))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      runs,
    );
  });

  test('is refused if one step refuses it', () => {
    const changes = fc.constantFrom('', ',', '[', ']', '{', '}', '"', ':', '1', '-', ' ', 'null', '\\');
    fc.assert(
      fc.property(texts, steps, fc.nat(), fc.nat(3), changes, (text, step, place, removed, added) => {
        const at = place % (text.length + 1);
        const changed = text.slice(0, at) + added + text.slice(at + removed);
        expect(outcomeOf(() => inSteps(changed, step))).toBe(outcomeOf(() => JSON.parse(changed)));
      }),
      runs,
    );
  });

  test.each([
    '{"a":-[1,2,3,4,5]}',
    '{"a":1[1,2,3,4,5]}',
    '[-[1,2,3,4,5]]',
    '[[1,2,3,4],]',
    '{"a":[1,2,3,4],}',
    '[1,2,3,4,]',
    '[[1,2,3,4][1,2,3,4]]',
    '[[1,2,3,4] 1]',
    '{"a":[1,2,3,4]"b":1}',
    '{"a":[1,2,3,4}]',
    '[1,2,3,4]]',
    '[1,2,3,4],[1]',
  ])('%s is refused wherever a step ends', (text) => {
    for (let step = 1; step < text.length; step += 1)
      expect(outcomeOf(() => inSteps(text, step))).toBe('SyntaxError');
  });

  test('has fewer members than its scan counts where an object names one twice, and no others', () => {
    const count = (value: unknown) => countMembers(value as Json);
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), steps, (value, step) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        const { members } = finished(countedInSteps(JSON.stringify(value), count, step));
        expect(members).toBe(count(value));
      }),
      runs,
    );
    for (const text of ['{"a":[1],"b":2,"a":3}', '{"b":{"a":1,"a":{"c":1}}}', '{"a":1,"\\u0061":2}'])
      expect(finished(countedInSteps(text, count, 3)).members).toBeLessThan(text.split(':').length - 1);
  });

  test('keeps a member named __proto__ as a member', () => {
    for (const value of ['1', '[1,2,3,4,5,6]']) {
      const parsed = inSteps(`{"a":1,"__proto__":${value},"b":2}`, 4);
      expect(Object.keys(parsed as object)).toEqual(['a', '__proto__', 'b']);
      expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    }
  });
});

test.each([
  ['members', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, n]))],
  [
    'members within',
    { a: { b: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, n])) } },
  ],
  ['items', [Array.from({ length: 100_000 }, (_, n) => ({ [`m${n}`]: n }))]],
])('100,000 %s are parsed in a step for each 4,096, at the least', (_name, value) => {
  const text = JSON.stringify(value);
  expect([...parsedInSteps(text)].length).toBeGreaterThan(100_000 / 4_096);
  expect(JSON.stringify(finished(parsedInSteps(text)))).toBe(text);
});
