import { expect, test } from 'vitest';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { orderedContent, valueOfOrdered } from './ordered-content.ts';

test('a value comes back with its members in their order, although canonical JSON sorts them', () => {
  const stored = JSON.parse(canonicalJson(orderedContent({ b: 1, a: { d: [2], c: null } })));
  expect(JSON.stringify(valueOfOrdered(stored))).toBe('{"b":1,"a":{"d":[2],"c":null}}');
});
