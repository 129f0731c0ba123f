import { expect, test } from 'vitest';
import { creationIn, withCreation } from './creation.ts';

const record = (head: Record<string, string>) => ({ key: { collection: 'policies', id: 'x' }, head });

test('a collection comes from its first incarnation, however often its content was exchanged', () => {
  const made = withCreation(record({ incarnation: 'a' }), undefined);
  expect(made).toEqual(record({ incarnation: 'a' }));
  const once = withCreation(record({ incarnation: 'b' }), made);
  const twice = withCreation(record({ incarnation: 'c' }), once);
  expect(twice).toEqual(record({ incarnation: 'c', creation: 'a' }));
  expect([made, once, twice].map(({ head }) => creationIn(head))).toEqual(['a', 'a', 'a']);
});
