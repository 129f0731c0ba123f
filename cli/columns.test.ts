import { describe, expect, test } from 'vitest';
import { answerTable } from './api/table.ts';
import { shortenedRows } from './columns.ts';
import { textTable } from './output.ts';
import { shortened } from './remote/printable.ts';

const run = (id: string, more: object = {}) => ({
  admission: { status: 'accepted', operationId: 'o'.repeat(80) },
  id: id.padStart(20, '0'),
  handlerId: 'claims.check',
  status: 'failed',
  attempt: 1,
  scope: { productId: 'p', tenantId: 't' },
  payloadHash: `sha256:${'0'.repeat(64)}`,
  payload: { claim: 'x'.repeat(100) },
  correlationId: null,
  createdAtUtc: `2026-01-0${id}T00:00:00.000Z`,
  error: 'E'.repeat(90),
  ...more,
});

const lineLengths = (text: string) => text.split('\n').map((line) => line.length);

describe('a table on a terminal', () => {
  test('fits it, with the columns that a person looks for', () => {
    const [table = '', note = ''] = answerTable([run('1'), run('2', { attempt: 2 })], 80).split('\n\n');
    expect(Math.max(...lineLengths(table))).toBeLessThanOrEqual(80);
    expect(table.split('\n')[0]).toMatch(/^ID +STATUS +ATTEMPT +CREATED AT UTC/);
    expect(table).toContain('00000000000000000001');
    expect(note).toMatch(/^Not shown: .*payload.*\. --output json shows all\.$/);
  });

  test.each([30, 60, 100, 140, 200])('of %i columns is not exceeded', (width) => {
    const [table = ''] = answerTable([run('1'), run('2', { attempt: 2 })], width).split('\n\n');
    expect(Math.max(...lineLengths(table))).toBeLessThanOrEqual(width);
  });

  test('shows no object where not everything fits', () => {
    const job = (id: string) => ({
      ...run(id, { error: null }),
      kind: `import_${id}`,
      succeeded: Number(id),
    });
    const [table = ''] = answerTable([job('1'), job('2')], 110).split('\n\n');
    expect(table.split('\n')[0]).toMatch(/^ID +STATUS +CREATED AT UTC +KIND +SUCCEEDED$/);
    expect(table).not.toContain('{');
  });

  test('that is wide enough shows every column', () => {
    const text = answerTable([run('1')]);
    expect(text).toContain('PAYLOAD HASH');
    expect(text).not.toContain('Not shown');
  });

  test('shortens the widest cells first', () => {
    const rows = shortenedRows(
      [
        ['KEY', 'VALUE'],
        ['a'.repeat(20), 'b'.repeat(100)],
      ],
      60,
      shortened,
    );
    expect(rows[1]).toEqual(['a'.repeat(20), `${'b'.repeat(37)}…`]);
    expect(textTable(rows).split('\n')[1]).toHaveLength(60);
  });
});

test('no cell of any table moves the cursor or begins a line', () => {
  const hostile = ['\u001b[2J', 'one\ntwo\u009b1m'];
  expect(textTable([['A', 'B'], hostile]).split('\n')).toEqual([
    'A          B',
    '\\u001b[2J  one\\u000atwo\\u009b1m',
  ]);
});
