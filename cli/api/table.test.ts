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

test('members beside a list are shown below it', () => {
  expect(answerTable({ items: [{ id: 'a' }], continuationToken: 'next' })).toBe(
    'ID\na\n\ncontinuation token  next',
  );
  expect(answerTable({ items: [], continuationToken: null })).toBe('(none)\n\ncontinuation token  -');
  expect(answerTable([])).toBe('(none)');
});

test('a match of a search is its score and the place of its record', () => {
  const match = (id: string, score: number) => ({
    record: { id, partitionKey: 'p', type: 'note', content: { text: 'long' } },
    score,
    diagnostics: { details: {} },
  });
  const table = answerTable({ items: [match('a', 1), match('b', 0.25)], continuationToken: null });
  expect(table.split('\n')).toEqual([
    'SCORE  PARTITION KEY  ID  TYPE',
    '1      p              a   note',
    '0.25   p              b   note',
    '',
    'Not shown: record, diagnostics. --output json shows all.',
    '',
    'continuation token  -',
  ]);
});

test('an answer without a list is one line for each member', () => {
  expect(answerTable({ status: 'ok', storage: { canonicalStore: 'sqlite' } })).toBe(
    'status                   ok\nstorage canonical store  sqlite',
  );
  expect(answerTable({ a: [{ b: 1 }], c: { d: 2 } })).toBe('a    [{"b":1}]\nc d  2');
  expect(answerTable('text')).toBe('"text"');
  expect(answerTable(null)).toBe('null');
  expect(answerTable([1, 2])).toBe('[1,2]');
});

test('the first failed item of a batch stands below the long list that it is in', () => {
  const items = [
    { index: 0, status: 'succeeded', error: null },
    { index: 1, status: 'failed', error: '/id: must hold\nsomething' },
    { index: 2, status: 'failed', error: 'another' },
  ];
  const job = { status: 'succeeded', stoppedOnError: true, importResult: { records: { failed: 2, items } } };
  expect(answerTable(job).split('\n').slice(-2)).toEqual([
    '',
    'The first failed item: index 1, /id: must hold\\u000asomething',
  ]);
  expect(answerTable({ ...job, importResult: null })).not.toContain('first failed');
});

test('stored texts of a tenant move no cursor, begin no line and fill no screen', () => {
  const hostile = { id: 'a\u001b[2J\nFAKE', ['na\u202eme']: 'x'.repeat(500) };
  const table = answerTable([hostile]);
  expect(table.split('\n')).toHaveLength(2);
  expect(table).toContain('a\\u001b[2J\\u000aFAKE');
  expect(table).toMatch(/NA\\U202EME/);
  expect(table.length).toBeLessThan(250);
  expect(answerTable({ one: 'a\u001b[2J\nfake  line' })).toBe('one  a\\u001b[2J\\u000afake  line');
  expect(answerTable(['\u009b1m'])).toBe('["\\\\u009b1m"]');
});
