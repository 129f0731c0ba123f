import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePoint } from '../../test/support/code-points.ts';
import { repeatedMember } from './repeated-member.ts';

test('no text that was written from a value names a member twice', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat({ max: 3 }), (value, indent) => {
      expect(repeatedMember(JSON.stringify(value, null, indent))).toBeUndefined();
    }),
    { numRuns: 1000 },
  );
});

test('one more member with the name of another is found, wherever it stands', () => {
  const text = fc.string({ unit: codePoint, maxLength: 6 });
  const nested = fc.tuple(fc.array(text, { maxLength: 4 }), text, fc.jsonValue({ maxDepth: 2 }));
  fc.assert(
    fc.property(nested, ([path, name, value]) => {
      const spelt = JSON.stringify(name);
      const twice = `{"": 0${name === '' ? '' : `,${spelt}:${JSON.stringify(value)}`}, ${spelt} : 1}`;
      const written = path.reduceRight((inner, each) => `[{${JSON.stringify(each)}:[0,${inner}]}]`, twice);
      const place = path.flatMap((each) => [0, each, 1]);
      expect(repeatedMember(written)).toEqual([...place, name]);
    }),
    { numRuns: 1000 },
  );
});

test.each<[string, unknown]>([
  ['{"a":1,"a":1}', ['a']],
  ['{"a":1,"\\u0061":1}', ['a']],
  ['{"__proto__":1,"__proto__":1}', ['__proto__']],
  ['{"a":{"b":[1,{"c":1},{"d":1,"e":2,"d":3}]}}', ['a', 'b', 2, 'd']],
  ['{"a":1,"A":1}', undefined],
  ['{"a":{"a":["a","a"]},"b":"\\"a\\":","c":"}{,"}', undefined],
])('%s: %j', (text, place) => {
  expect(repeatedMember(text)).toEqual(place);
});

test('names may be compared in another spelling, and are returned in their own', () => {
  expect(repeatedMember('{"Port":1,"port":1}', (name) => name.toLowerCase())).toEqual(['port']);
});
