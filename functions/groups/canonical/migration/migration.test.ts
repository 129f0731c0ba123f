import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/support/refusal.ts';
import type { LoadedRecords, RecordData } from '../../../store/port.ts';
import { LEDGER_COUNT, migrationKey } from '../records.ts';
import { decideMigrations, ledgerCount, migrationKeys, readReceipt } from './migration.ts';
import { type Migration, readMigrations } from './migration-request.ts';

const NOW = '2026-01-02T03:04:05.000Z';

function migration(id: string, change: Partial<Migration> = {}): Migration {
  return { namespace: 'billing', id, checksum: 'c', description: null, pointer: `/${id}`, ...change };
}

function recorded(id: string, head: object = {}): RecordData {
  return {
    key: migrationKey('billing', id),
    head: { namespace: 'billing', id, checksum: 'c', appliedAtUtc: NOW, ...head },
  };
}

const counted = (count: unknown): RecordData => ({ key: LEDGER_COUNT, head: { count: count as number } });

function found(...records: readonly RecordData[]): LoadedRecords {
  return {
    get: (key) =>
      records.find((record) => record.key.id === key.id && record.key.collection === key.collection),
  };
}

const decide = (migrations: readonly Migration[], ...records: readonly RecordData[]) =>
  decideMigrations(migrations, NOW, found(...records));

describe('the ledger', () => {
  test('asks for its count, where rivals queue, and for every migration', () => {
    expect(migrationKeys([migration('1'), migration('2')])).toEqual({
      gate: LEDGER_COUNT,
      keys: [LEDGER_COUNT, migrationKey('billing', '1'), migrationKey('billing', '2')].map((key) => ({
        key,
      })),
    });
  });

  test('writes what it does not hold, and counts it', () => {
    const description = 'Orders "have" a due date';
    const batch = [migration('1'), migration('2', { description }), migration('3')];
    expect(decide(batch, counted(7), recorded('1')).writes).toEqual([
      { put: { key: LEDGER_COUNT, head: { count: 9 }, body: null, listing: null } },
      {
        put: {
          key: migrationKey('billing', '2'),
          head: { namespace: 'billing', id: '2', checksum: 'c', appliedAtUtc: NOW },
          body: JSON.stringify(description),
          listing: { group: 'billing', id: '2', hidden: false, indexes: {} },
        },
      },
      expect.objectContaining({
        put: expect.objectContaining({ key: migrationKey('billing', '3'), body: null }),
      }),
    ]);
    expect(decide([migration('1')]).writes[0]).toMatchObject({ put: { head: { count: 1 } } });
  });

  test('writes nothing where it holds everything', () => {
    expect(decide([migration('1')], counted(1), recorded('1')).writes).toEqual([]);
    expect(decide([], counted(1)).writes).toEqual([]);
  });

  test('refuses all for the first other checksum, full or not', () => {
    const batch = [migration('1'), migration('2'), migration('3')];
    const other = { checksum: 'd' };
    expect(
      refusalOf(() => decide(batch, counted(10_000), recorded('2', other), recorded('3', other))),
    ).toEqual({
      code: 'migration_checksum_conflict',
      message: expect.stringContaining('nothing was recorded'),
      errors: [{ pointer: '/2/checksum', detail: 'is not the checksum that was recorded' }],
    });
  });

  test('records into a ledger of any size, and still knows every checksum', () => {
    const batch = [migration('1'), migration('2')];
    for (const count of [9_999, 10_000, 1_000_000]) {
      expect(decide(batch, counted(count)).writes[0]).toMatchObject({ put: { head: { count: count + 2 } } });
      const other = recorded('2', { checksum: 'd' });
      expect(refusalOf(() => decide(batch, counted(count), other))).toMatchObject({
        code: 'migration_checksum_conflict',
      });
    }
    expect(decide([migration('1')], counted(10_000), recorded('1')).writes).toEqual([]);
  });

  test.each([{ namespace: 'other' }, { id: 'other' }])(
    'does not believe a record of another migration: %o',
    (head) => {
      expect(() => decide([migration('1')], recorded('1', head))).toThrow(
        expect.objectContaining({ failure: 'corrupt' }),
      );
    },
  );

  test.each(['1', -1, 1.5, Number.NaN, undefined])('does not believe a count of %s', (count) => {
    expect(() => ledgerCount(counted(count))).toThrow(expect.objectContaining({ failure: 'corrupt' }));
  });

  test('shows what it holds, and nothing that is no migration', () => {
    const shown = { namespace: 'billing', id: '1', checksum: 'c', appliedAtUtc: NOW };
    expect(readReceipt({ ...recorded('1'), body: '"Why"' })).toEqual({ ...shown, description: 'Why' });
    expect(readReceipt({ ...recorded('1'), body: null })).toEqual({ ...shown, description: null });
    expect(() => readReceipt(counted(1))).toThrow(expect.objectContaining({ failure: 'corrupt' }));
  });
});

describe('a batch', () => {
  const input = { namespace: ' billing ', id: ' 1 ', checksum: ' c ' };

  test('is read trimmed, with a blank description as none', () => {
    expect(readMigrations([{ ...input, description: '  a\n b ' }])).toEqual([
      migration('1', { description: 'a\n b', pointer: '/0' }),
    ]);
    for (const description of [null, '', ' \n '])
      expect(readMigrations([{ ...input, description }])[0]?.description).toBeNull();
  });

  test('holds each migration once, the first of those that say the same', () => {
    const batch = [input, { ...input, id: '2' }, { ...input, id: '1', description: 'again' }];
    expect(readMigrations(batch)).toEqual([
      migration('1', { pointer: '/0' }),
      migration('2', { pointer: '/1' }),
    ]);
  });

  test('that contradicts itself is refused', () => {
    expect(refusalOf(() => readMigrations([input, { ...input, checksum: 'd' }]))).toMatchObject({
      code: 'duplicate_in_request',
      errors: [{ pointer: '/1/checksum' }],
    });
  });

  test('of more than 500 is refused as a whole', () => {
    const batch = Array.from({ length: 501 }, (_, n) => ({ ...input, id: `${n}` }));
    expect(readMigrations(batch.slice(1))).toHaveLength(500);
    expect(refusalOf(() => readMigrations(batch))).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: '' }],
    });
  });
});
