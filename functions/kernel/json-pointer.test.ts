import { expect, test } from 'vitest';
import type { Json } from './canonical-json.ts';
import { isJsonPointer, valueAtPointer } from './json-pointer.ts';
import { parseJson } from './json-text.ts';

// The document of RFC 6901, section 5, and members that objects of JavaScript inherit.
const document = parseJson(
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8,"__proto__":{"x":3},"null":null}',
) as Json;

test.each<[pointer: string, value: unknown]>([
  ['', document],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/m~0n', 8],
  ['/null', null],
  ['/__proto__/x', 3],
  ['/foo/01', undefined],
  ['/foo/2', undefined],
  ['/foo/length', undefined],
  ['/toString', undefined],
  ['/null/x', undefined],
  ['foo', undefined],
  ['/m~n', undefined],
])('the pointer %j leads to %j', (pointer, value) => {
  expect(valueAtPointer(document, pointer)).toEqual(value);
});

test('a pointer begins with a slash and escapes its tildes', () => {
  expect(['', '/a', '/~01', 'a', '/~', '/~2'].map(isJsonPointer)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});
