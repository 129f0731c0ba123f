import { expect, test } from 'vitest';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import type { Entry } from '../../../sdk/typescript/src/worker/steps/entries.ts';
import { readJournal } from './entries.ts';
import { endingIn, journalRows } from './rows.ts';

const head: Entry = { k: '@', t: 'mark', v: { format: 1, handler: 'refund', version: '3' } };
const rowsOf = (...entries: Entry[]) =>
  journalRows(readJournal([[head, ...entries] as unknown as JsonValue])).map(
    ({ key, kind, state, duration, tries, undo, value }) => [key, kind, state, duration, tries, undo, value],
  );

test('a row for each operation, with its state', () => {
  expect(
    rowsOf(
      { k: 'charge', t: 'step', v: { id: 'ch_1' }, n: 2, ms: 340, at: 1 },
      { k: 'large', t: 'step', ref: 'svc.step.large', ms: 2_100, at: 1 },
      { k: 'label', t: 'step', e: { name: 'Error', message: 'no paper' }, n: 5, ms: 210_000, at: 1 },
      { k: 'mail', t: 'step', n: 1, at: 1 },
      { k: 'nap', t: 'sleep', at: 1 },
      { k: 'approval', t: 'event', v: { payload: { by: 'kim' } }, at: 1 },
      { k: 'late', t: 'event', v: null, at: 1 },
      { k: 'ship', t: 'child', id: '8', at: 1 },
      { k: 'done', t: 'child', v: 4, id: '9', at: 1 },
    ),
  ).toEqual([
    ['charge', 'step', 'done', '340 ms', 2, null, '{"id":"ch_1"}'],
    ['large', 'step', 'done', '2.1 s', 1, null, 'in svc.step.large'],
    ['label', 'step', 'failed', '3.5 min', 5, null, 'Error: no paper'],
    ['mail', 'step', 'waits for a retry', null, 1, null, null],
    ['nap', 'sleep', 'waits', null, null, null, null],
    ['approval', 'event', 'done', null, null, null, '{"by":"kim"}'],
    ['late', 'event', 'timed out', null, null, null, null],
    ['ship', 'child', 'runs', null, null, null, '8'],
    ['done', 'child', 'done', null, null, null, '4'],
  ]);
});

test('undoing is shown with its step, and the reason apart', () => {
  const ending: Entry = { k: '@ending', t: 'mark', v: { name: 'Stop', message: 'not approved' }, at: 1 };
  const step = (k: string): Entry => ({ k, t: 'step', v: 1, ms: 7_200_000, at: 1 });
  const entries: Entry[] = [
    step('a'),
    step('b'),
    step('c'),
    ending,
    { k: '@undo:c', t: 'undo', v: null, ms: 1, at: 1 },
    { k: '@undo:b', t: 'undo', e: { name: 'Error', message: 'no' }, n: 3, ms: 1, at: 1 },
    { k: '@undo:a', t: 'undo', n: 1, at: 1 },
  ];
  expect(rowsOf(...entries)).toEqual([
    ['a', 'step', 'done', '2.0 h', 1, 'waits for a retry', '1'],
    ['b', 'step', 'done', '2.0 h', 1, 'failed', '1'],
    ['c', 'step', 'done', '2.0 h', 1, 'done', '1'],
  ]);
  expect(endingIn(readJournal([[head, ...entries] as unknown as JsonValue]))).toBe('Stop: not approved');
  expect(endingIn(readJournal([]))).toBeNull();
});

test('an ending of another shape stops no table', () => {
  const ending = { k: '@ending', t: 'mark', v: null, at: 1 };
  expect(endingIn(readJournal([[head, ending] as unknown as JsonValue]))).toBe('undefined: undefined');
});

test('a moment that is none is refused', () => {
  const forged = [[head, { k: 'a', t: 'step', v: 1, ms: 1, at: 1e300 }] as unknown as JsonValue];
  expect(() => readJournal(forged)).toThrow('an entry that this kit cannot read');
});
