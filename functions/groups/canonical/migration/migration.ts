import type { CanonicalMigrationReceipt } from '../../../../contracts/generated/models.ts';
import { canonicalJson } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import {
  type Decision,
  type LoadedRecords,
  type RecordData,
  StoreError,
  type TransactRequest,
  type Write,
} from '../../../store/port.ts';
import { LEDGER_COUNT, MIGRATIONS, migrationKey } from '../records.ts';
import type { Migration } from './migration-request.ts';

/**
 * All records that the batch may read or write. Each batch that adds a migration changes the record of the count, which serializes
 * concurrent batches.
 */
export function migrationKeys(migrations: readonly Migration[]): TransactRequest {
  const keys = migrations.map(({ namespace, id }) => ({ key: migrationKey(namespace, id) }));
  return { gate: LEDGER_COUNT, keys: [{ key: LEDGER_COUNT }, ...keys] };
}

/**
 * Records unknown migrations, and keeps known ones with the same checksum. A known migration with another checksum refuses the whole
 * batch. `readMigrations` has made the migrations distinct.
 *
 * Returns the number of recorded migrations. Throws `migration_checksum_conflict`; it then writes nothing.
 */
export function decideMigrations(
  migrations: readonly Migration[],
  nowUtc: string,
  found: LoadedRecords,
): Decision<number> {
  const unknown = migrations.filter((migration) => !isRecorded(migration, found));
  if (unknown.length === 0) return { writes: [], result: 0 };
  const count = ledgerCount(found.get(LEDGER_COUNT));
  const writes: Write[] = [
    { put: { key: LEDGER_COUNT, head: { count: count + unknown.length }, body: null, listing: null } },
    ...unknown.map((migration) => ({ put: migrationRecord(migration, nowUtc) })),
  ];
  return { writes, result: unknown.length };
}

function isRecorded(migration: Migration, found: LoadedRecords): boolean {
  const record = found.get(migrationKey(migration.namespace, migration.id));
  if (record === undefined) return false;
  const { head } = record;
  if (head.namespace !== migration.namespace || head.id !== migration.id) {
    throw new StoreError('corrupt', 'a migration record does not hold the migration that its id names');
  }
  if (head.checksum !== migration.checksum) {
    throw new ServiceError(
      'migration_checksum_conflict',
      'The ledger holds a migration of the batch with another checksum; nothing was recorded',
      {
        errors: [
          { pointer: `${migration.pointer}/checksum`, detail: 'is not the checksum that was recorded' },
        ],
      },
    );
  }
  return true;
}

function migrationRecord(migration: Migration, nowUtc: string): RecordData {
  const { namespace, id, checksum, description } = migration;
  return {
    key: migrationKey(namespace, id),
    head: { namespace, id, checksum, appliedAtUtc: nowUtc },
    body: description === null ? null : canonicalJson(description),
    listing: { group: namespace, id, hidden: false, indexes: {} },
  };
}

/** The number of migrations in the ledger, from its count record; 0 before the first batch. */
export function ledgerCount(record: RecordData | undefined): number {
  if (record === undefined) return 0;
  const count = record.head.count;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) {
    throw new StoreError('corrupt', 'the count of the migration ledger is no count');
  }
  return count;
}

/** The wire form of a migration record that was read with its body. */
export function readReceipt(record: RecordData): CanonicalMigrationReceipt {
  const { head, body } = record;
  if (record.key.collection !== MIGRATIONS.name) {
    throw new StoreError('corrupt', 'the ledger lists a record that is no migration');
  }
  return {
    namespace: String(head.namespace),
    id: String(head.id),
    checksum: String(head.checksum),
    description: body === null || body === undefined ? null : String(JSON.parse(body)),
    appliedAtUtc: String(head.appliedAtUtc),
  };
}
