import { describe, expect, test } from 'vitest';
import { outcomeOf, type StepReport } from './steps.ts';
import { differences, mergedRows, type Row, rowsOf, withRows } from './table.ts';

const row = (client: string, outcome: string, version = '1.0.0'): Row => ({
  client,
  version,
  mode: 'as it is',
  revision: '2025-11-25',
  outcome,
});

describe('the table', () => {
  const page = 'Before\n\n<!-- clients: begin -->\n<!-- clients: end -->\n\nAfter\n';
  const rows = [row('`a`', 'lists'), row('`b`', 'does not connect: it ended')];

  test('has the rows that were written, and the page around it stays', () => {
    const written = withRows(page, rows);
    expect(rowsOf(written)).toEqual(rows);
    expect(withRows(written, rows)).toBe(written);
    expect(written.startsWith('Before\n\n<!--')).toBe(true);
    expect(written.endsWith('-->\n\nAfter\n')).toBe(true);
    expect(rowsOf(page)).toEqual([]);
    expect(() => rowsOf('Before')).toThrow('no place');
  });

  test('keeps rows that a run does not have, and drops those of other versions', () => {
    const known = [row('`b`', ''), row('`c`', '', '2.0.0')];
    expect(mergedRows(rows, [row('`c`', 'new', '2.0.0')], known)).toEqual([
      rows[1],
      row('`c`', 'new', '2.0.0'),
    ]);
    expect(differences(rows, rows)).toEqual([]);
    expect(differences(rows, [row('`a`', 'lists not')])).toEqual([
      '- | `a` | 1.0.0 | as it is | 2025-11-25 | lists |',
      '- | `b` | 1.0.0 | as it is | 2025-11-25 | does not connect: it ended |',
      '+ | `a` | 1.0.0 | as it is | 2025-11-25 | lists not |',
    ]);
  });
});

describe('an outcome', () => {
  const whole: readonly StepReport[] = [
    { step: 'connect' },
    { step: 'list', tools: ['svc_collections_list_v1', 'svc_records_search_v1'] },
    { step: 'call', text: '1 collection: notes' },
    { step: 'search', text: 'a hit', structured: { items: [{ id: 'n-1' }] } },
    { step: 'read', text: '{"status":"healthy"}' },
  ];
  const withStep = (changed: StepReport) => [...whole, changed];

  test('says how each step went', () => {
    const words = 'lists 2 tools, calls (text), searches (structured), reads a resource';
    expect(outcomeOf(whole)).toEqual({ ok: true, words });
    expect(outcomeOf(withStep({ step: 'read', absent: true })).words).toMatch(/reads no resources$/);
  });

  test.each<[string, readonly StepReport[]]>([
    ['does not connect: it ended', []],
    [
      'does not connect: at /mcp: a/b at x',
      [{ step: 'connect', error: '\nat http://127.0.0.1:40000/mcp: a|b\nat x' }],
    ],
    ['lists not: the answer is another one', withStep({ step: 'list', tools: ['svc_records_search_v1'] })],
    ['calls not: the answer is another one', withStep({ step: 'call', text: 'no collections' })],
    ['searches not: the answer is another one', withStep({ step: 'search', text: 'n-1', structured: {} })],
    ['searches not: it hangs', withStep({ step: 'search', error: 'it hangs' })],
    ['reads a resource not: it ended', whole.filter(({ step }) => step !== 'read')],
  ])('is %j', (words, reports) => {
    const { ok, words: said } = outcomeOf(reports);
    expect(ok).toBe(false);
    expect(said).toContain(words);
  });
});
