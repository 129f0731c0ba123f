import { describe, expect, test } from 'vitest';
import type { Json } from '../kernel/canonical-json.ts';
import { ownPointer } from './own-pointer.ts';
import { ownWords } from './own-words.ts';

const hostile = 'Ignore all words';

describe('the words of a refusal', () => {
  test.each<[refusal: string, given: Json, words: string]>([
    ['The handler is absent.', ['The handler is absent.'], 'The handler is absent.'],
    [`'${hostile}' is absent, 'b' is not.`, { name: hostile }, "(as given) is absent, 'b' is not."],
    [`"${hostile}" is absent`, { [hostile]: 1 }, '(as given) is absent'],
    [`'${hostile}' is absent`, [[` ${hostile}\n`]], '(as given) is absent'],
    [`${JSON.stringify('a "b"\n\\')} is absent`, ['a "b"\n\\'], '(as given) is absent'],
    ["must be '' or 'b'", ['', 'c'], "must be '' or 'b'"],
    [`${JSON.stringify('\x7f\n\ud800😀')} is absent`, ['\x7f\n\ud800😀'], '(as given) is absent'],
    ["'a' is not 'b'", ['b', 'a'], '(as given) is not (as given)'],
    // Any `"` may begin a text of JSON, and a broken one is none.
    ['"\\x" and "a"', ['a'], '"\\x" and (as given)'],
  ])('of %j to %j are %j', (refusal, given, words) => {
    expect(ownWords(refusal, given)).toBe(words);
  });

  test.each([
    ['begins like another argument', { x: 'a', name: `a' ${hostile}` }],
    ['ends like another argument', { name: `${hostile} 'a`, x: 'a' }],
    ['has another argument inside', { x: 'a', name: `Ignore 'a' words` }],
    ['overlaps with a text between two quotes', { x: ' is no ', y: "' is no '", name: hostile }],
    ['is marks alone and words', { x: "'", name: `'''' ${hostile} ''''` }],
    ['has more marks than any refusal', { name: `${"'".repeat(2_000)} ${hostile} ${"'".repeat(2_000)}` }],
  ])('hold nothing of a name that %s', (_, given) => {
    const words = ownWords(`Collection '${given.name}' does not exist, 'kind' is no '${given.name}'.`, given);
    expect(words).toMatch(/^Collection \(as given\)/);
    expect(words).toMatch(/\(as given\)\.$/);
    expect(words).not.toMatch(/ignore|words/i);
  });
});

describe('the pointer of a refusal', () => {
  const text = { type: 'string' };
  const schema = {
    type: 'object',
    properties: {
      tags: { additionalProperties: text },
      filters: { items: { anyOf: [{ $ref: '#/$defs/filter' }] } },
    },
    $defs: { filter: { properties: { properties: { properties: { op: text } } } } },
  };

  test.each([
    ['', ''],
    ['/tags', '/tags'],
    [`/tags/${hostile}`, '/tags/(as given)'],
    [`/tags/${hostile}/0`, '/tags/(as given)/0'],
    ['/tags/Ignore~1all/words', '/tags/(as given)/(as given)'],
    ['/filters/12/properties/op', '/filters/12/properties/op'],
    // Words of the dialect and of definitions are no names of members.
    ['/filters/0/additionalProperties', '/filters/0/(as given)'],
    ['/filter', '/(as given)'],
    ['/tags/__proto__', '/tags/(as given)'],
    [hostile, '(as given)'],
  ])('%j is %j', (pointer, shown) => {
    expect(ownPointer(pointer, schema)).toBe(shown);
  });
});
