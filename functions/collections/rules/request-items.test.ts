import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compactJson } from '../../kernel/json-slices.ts';
import { finished } from '../../kernel/turns.ts';
import { splitInSteps } from './request-items.ts';

const splitItems = (text: string, path: readonly string[]) => finished(splitInSteps(text, path));

test('items keep their text: order of members, spelling of numbers, escapes', () => {
  const items = ['{"b":1.50,"1":1e2,"a":"\\"] "}', '[]', '"\\\\"', '-0', 'null', '{"x":{"records":[1]}}'];
  const text = compactJson(`{ "a": [1], "\\u0072ecords" : [ ${items.join(' ,\n')} ], "z": true }`);
  expect(splitItems(text, ['records'])).toEqual({ frame: '{"a":[1],"records":[],"z":true}', items });
});

test('an inner array is found by its path', () => {
  const text = '{"records":[0],"snapshot":{"policy":{"records":[9]},"records":[1,2]}}';
  expect(splitItems(text, ['snapshot', 'records'])).toEqual({
    frame: '{"records":[0],"snapshot":{"policy":{"records":[9]},"records":[]}}',
    items: ['1', '2'],
  });
});

test('without such an array there are no items', () => {
  for (const text of ['{}', '[]', '"records"', '{"records":{}}', '{"snapshot":null}', '{"a":"records"}'])
    expect(splitItems(text, ['records'])).toBeNull();
  expect(splitItems('{"snapshot":[]}', ['snapshot', 'records'])).toBeNull();
});

test('any items come back, beside any other members', () => {
  const values = fc.array(fc.jsonValue().map((value) => JSON.stringify(value)));
  const names = fc.string().filter((name) => name !== 'records' && name !== '__proto__');
  const around = fc.dictionary(names, fc.jsonValue(), { noNullPrototype: true });
  fc.assert(
    fc.property(values, around, (items, others) => {
      const rest = JSON.stringify(others).slice(1);
      const text = `{"records":[${items.join(',')}]${rest === '}' ? '' : ','}${rest}`;
      const split = splitItems(text, ['records']);
      expect(split?.items).toEqual(items);
      expect(JSON.parse(split?.frame ?? '')).toEqual(JSON.parse(JSON.stringify({ records: [], ...others })));
    }),
  );
});
