import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import type { Entry } from '../../../sdk/typescript/src/worker/steps/entries.ts';
import { Journal, mayContinue } from '../../../sdk/typescript/src/worker/steps/journal.ts';
import { cutJournal } from './cut.ts';
import { readJournal } from './entries.ts';

const head: Entry = { k: '@', t: 'mark', v: { format: 1, handler: 'refund', version: '3' } };
const step = (k: string, v: JsonValue = k): Entry => ({ k, t: 'step', v, ms: 1, at: 1 });
const undo = (k: string): Entry => ({ k: `@undo:${k}`, t: 'undo', v: null, ms: 1, at: 2 });
const segment = (...entries: Entry[]) => entries as unknown as JsonValue;
const contents = (segments: readonly { readonly content: unknown }[]) =>
  segments.map(({ content }) => content);

const program = [
  step('charge'),
  { k: '@now', t: 'mark', v: 7, at: 1 },
  { k: 'approval', t: 'event', v: { payload: { by: 'kim' } }, at: 1 },
  step('ship'),
  step('mail'),
] satisfies Entry[];

describe('the cut of a journal', () => {
  test('keeps the results before the step, and what is not a step there', () => {
    const cut = cutJournal([segment(head, ...program)], 'ship');
    expect(contents(cut.segments)).toEqual([[head, ...program.slice(0, 3)]]);
    expect(cut.segments.map(({ key, metadata }) => [key, metadata])).toEqual([
      ['svc.steps.0', { steps: '4' }],
    ]);
    expect([cut.kept, cut.again]).toEqual([
      ['charge', 'approval'],
      ['ship', 'mail'],
    ]);
  });

  test('keeps nothing before the first step: the journal is empty', () => {
    expect(cutJournal([segment(head, ...program)], 'charge').segments).toEqual([]);
  });

  test('goes by the first entry of a key, and keeps the last one', () => {
    const tried: Entry = { k: 'charge', t: 'step', n: 1, at: 5 };
    const cut = cutJournal([segment(head, tried, step('ship')), segment(step('charge', 'late'))], 'ship');
    expect(contents(cut.segments)).toEqual([[head, step('charge', 'late')]]);
    const [first] = cutJournal([segment(head, step('ship'), step('charge'))], 'charge').segments;
    expect(first?.content).toEqual([head, step('ship')]);
  });

  test('leaves out what has no result, so that it begins anew', () => {
    const open: Entry[] = [
      { k: 'nap', t: 'sleep', at: 9 },
      { k: 'child', t: 'child', id: '8', at: 1 },
      { k: 'label', t: 'step', n: 2, at: 9 },
    ];
    const cut = cutJournal([segment(head, ...open, step('ship'))], 'ship');
    expect([cut.segments, cut.again]).toEqual([[], ['nap', 'child', 'label', 'ship']]);
  });

  test('leaves out undoing, and names kept steps that were undone', () => {
    const ending: Entry = { k: '@ending', t: 'mark', v: { name: 'Stop', message: 'no' }, at: 2 };
    const entries = [head, ...program, ending, undo('mail'), undo('charge')];
    const cut = cutJournal([segment(...entries)], 'ship');
    expect(JSON.stringify(contents(cut.segments))).not.toMatch(/@ending|@undo/);
    expect(cut.undone).toEqual(['charge']);
    // An undo that was journaled before the step is no result either.
    const early = cutJournal([segment(head, step('a'), undo('a'), step('b'))], 'b');
    expect(contents(early.segments)).toEqual([[head, step('a')]]);
  });

  test('names the checkpoints of kept values alone', () => {
    const large = (k: string): Entry => ({ k, t: 'step', ref: `svc.step.${k}`, ms: 1, at: 1 });
    expect(cutJournal([segment(head, large('a'), step('b'), large('c'))], 'b').values).toEqual([
      'svc.step.a',
    ]);
  });

  test('is a journal of several segments that a kit reads to its end', () => {
    const journal = Journal.of([], { handler: 'refund', version: '3' });
    const keys = Array.from({ length: 60 }, (_, at) => `s${at}`);
    for (const key of keys) journal.put(step(key, 'x'.repeat(4_000)));
    const whole = contents(journal.changes()) as JsonValue[];
    expect(whole.length).toBeGreaterThan(3);
    const cut = cutJournal(whole, 's50');
    const read = contents(cut.segments) as JsonValue[];
    expect(read.slice(0, -1).every((content, at) => mayContinue(content, at))).toBe(true);
    expect(readJournal(read).entries.map(({ k }) => k)).toEqual(keys.slice(0, 50));
  });

  test('refuses a step that is not there, and lists those that are', () => {
    expect(() => cutJournal([segment(head, ...program)], 'shop')).toThrow(
      'no step "shop". It holds "charge", "approval", "ship", "mail".',
    );
    expect(() => cutJournal([segment(head, ...program)], '@now')).toThrow('no step "@now"');
    const many = Array.from({ length: 52 }, (_, at) => step(`s${at}`));
    expect(() => cutJournal([segment(head, ...many)], 'x')).toThrow(/"s49", and 2 more\.$/);
    expect(() => cutJournal([], 'ship')).toThrow('no journal of steps');
  });

  test('refuses a journal of another format', () => {
    const other = { ...head, v: { format: 2, handler: 'refund', version: '3' } };
    expect(() => cutJournal([segment(other, ...program)], 'ship')).toThrow('has the format 2');
  });
});
