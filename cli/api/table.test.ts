import { expect, test } from 'vitest';
import { answerTable } from './table.ts';

test('a list is a line an item, with every member that any has', () => {
  expect(
    answerTable([
      { id: 'a', deliveryCount: 1 },
      { id: 'b', leaseOwner: null, data: { x: [1] } },
    ]),
  ).toBe(
    [
      'ID  DELIVERY COUNT  LEASE OWNER  DATA',
      'a   1               -            -',
      'b   -               -            {"x":[1]}',
    ].join('\n'),
  );
});

test('what stands beside a list is shown below it', () => {
  expect(answerTable({ items: [{ id: 'a' }], continuationToken: 'next' })).toBe(
    'ID\na\n\ncontinuation token  next',
  );
  expect(answerTable({ items: [], continuationToken: null })).toBe('(none)\n\ncontinuation token  -');
  expect(answerTable([])).toBe('(none)');
});

test('what is no list is a line a member', () => {
  expect(answerTable({ status: 'ok', storage: { canonicalStore: 'sqlite' } })).toBe(
    'status                   ok\nstorage canonical store  sqlite',
  );
  expect(answerTable({ a: [{ b: 1 }], c: { d: 2 } })).toBe('a    [{"b":1}]\nc d  2');
  expect(answerTable('text')).toBe('"text"');
  expect(answerTable(null)).toBe('null');
  expect(answerTable([1, 2])).toBe('[1,2]');
});

test('what a tenant stored moves no cursor, makes no line and fills no screen', () => {
  const hostile = { id: 'a\u001b[2J\nFAKE', ['na\u202eme']: 'x'.repeat(500) };
  const table = answerTable([hostile]);
  expect(table.split('\n')).toHaveLength(2);
  expect(table).toContain('a\\u001b[2J\\u000aFAKE');
  expect(table).toMatch(/NA\\U202EME/);
  expect(table.length).toBeLessThan(250);
  expect(answerTable({ one: 'a\u001b[2J\nfake  line' })).toBe('one  a\\u001b[2J\\u000afake  line');
  expect(answerTable(['\u009b1m'])).toBe('["\\\\u009b1m"]');
});
