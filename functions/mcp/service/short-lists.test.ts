import { expect, test } from 'vitest';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { withShortLists } from './short-lists.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at % 10);
const lengthOf = (value: object) => JSON.stringify(value).length;

test('an object that fits stays the same object', () => {
  const whole: JsonObject = { items: numbers(5) };
  expect(withShortLists(whole, lengthOf(whole))).toEqual({ values: whole, shortened: [] });
  expect(withShortLists(whole, lengthOf(whole)).values).toBe(whole);
});

test('the longest list ends early, at the last item that fits', () => {
  const whole: JsonObject = { id: 'a', result: { items: numbers(50), warnings: numbers(4) } };
  for (let most = 60; most < lengthOf(whole); most += 1) {
    const { values, shortened } = withShortLists(whole, most);
    const [{ shown } = { shown: 0 }] = shortened;
    expect(shortened).toEqual([{ list: '/result/items', shown, count: 50 }]);
    expect(values).toEqual({ id: 'a', result: { items: numbers(50).slice(0, shown), warnings: numbers(4) } });
    // One more item of two characters would not fit.
    expect([most, most - 1]).toContain(lengthOf(values));
  }
});

test('further lists end early where one is not enough, and each keeps an item', () => {
  const whole: JsonObject = { one: { items: numbers(30) }, two: { deep: { list: numbers(20) } } };
  const { values, shortened } = withShortLists(whole, 10);
  expect(values).toEqual({ one: { items: [0] }, two: { deep: { list: [0] } } });
  expect(shortened.map(({ list }) => list)).toEqual(['/one/items', '/two/deep/list']);
});

test('lists within items stay whole', () => {
  const whole: JsonObject = { items: [{ values: numbers(90) }] };
  expect(withShortLists(whole, 10)).toEqual({ values: whole, shortened: [] });
});
