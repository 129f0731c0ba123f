import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasEscapedName, parseJson } from './json-text.ts';

/** Makes V8 take the name `\` for escaped names behind `type`, where it has the fault. */
const poison = (): unknown => JSON.parse(String.raw`{"type":[],"\\":0}`);

describe('the names of a JSON text', () => {
  test.each([
    [String.raw`{"type":1,"\u00e9":2}`, { type: 1, é: 2 }],
    [String.raw`{"type":1,"\"":2}`, { type: 1, '"': 2 }],
    [String.raw`{"type":1,"\n":2}`, { type: 1, '\n': 2 }],
    [
      String.raw`[{"type":[{"type":"\"a\":","\t":null}] , "\/" : {}}]`,
      [{ type: [{ type: '"a":', '\t': null }], '/': {} }],
    ],
  ])('%s are read as they are written, also after other texts were parsed', (text, expected) => {
    poison();
    expect(parseJson(text)).toStrictEqual(expected);
  });

  test('are those of any value, also where they are escaped', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom('', ' ', '\n\t'), (value, space) => {
        poison();
        const text = JSON.stringify(value, null, space).replaceAll('é', '\\u00e9');
        // Through entries, since `__proto__` is a name like any other here.
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(value));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['{"a":"b"}', false],
    [String.raw`{"a":"\"b\":"}`, false],
    [String.raw`{"a":"\\","b":1}`, false],
    [String.raw`["\\" ,"a:"]`, false],
    [String.raw`{"a":"\\","\\":1}`, true],
    [String.raw`{"a\u0062" : 1}`, true],
    [String.raw`{"a":[{"\"":"x"}]}`, true],
  ])('of %s hold an escape: %s', (text, expected) => {
    expect(hasEscapedName(text)).toBe(expected);
  });

  test('may be __proto__, or stand twice, as in JSON.parse', () => {
    const text = String.raw`{"__proto__":{"a":1},"\u0062":1,"b":2,"1":3}`;
    const value = parseJson(text) as object;
    expect(Object.entries(value)).toEqual(Object.entries(JSON.parse(text) as object));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test.each(['', '{"a"}', String.raw`{"\u00e9":1`, String.raw`{"\x":1}`, String.raw`{"\n":1}}`])(
    'of %j are refused as JSON.parse refuses them',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});

test.each(['sdk/typescript/src', 'dispatcher'])(
  '%s, which stands on its own, has the same reader',
  (folder) => {
    const read = (path: string) => readFileSync(path, 'utf8');
    expect(read(`${folder}/json-text.ts`)).toBe(read('functions/kernel/json-text.ts'));
  },
);
