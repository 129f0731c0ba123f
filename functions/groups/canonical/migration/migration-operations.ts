import type {
  CanonicalMigrationInputList,
  CanonicalMigrationReceipt,
} from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import { listPages } from '../../../store/pages.ts';
import { type RecordStore, StoreError } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { LEDGER_COUNT, LEDGER_SCOPE, MIGRATIONS } from '../records.ts';
import { decideMigrations, ledgerCount, migrationKeys, readReceipt } from './migration.ts';
import { readMigrations } from './migration-request.ts';

const PAGE_RECORDS = 500;

/** Providers may answer short pages. A list that has not ended after so many is broken. */
const PAGES_MAX = 1000;

/** A batch that lands between two pages would be seen in part; the list is then read again, so many times. */
const READINGS_MAX = 5;

/**
 * Records all migrations of the batch or none. A migration that the ledger holds with the same checksum stays unchanged.
 */
export function applyCanonicalMigrations(
  dependencies: CanonicalDependencies,
): Handler<'applyCanonicalMigrations'> {
  return async ({ body }, context) => {
    await recordMigrations(dependencies.store, body, context.now);
    return { status: 204, body: null };
  };
}

export interface RecordedMigrations {
  /** Migrations that the ledger did not hold before. */
  readonly recorded: number;
  /** Those that it held with the same checksum. */
  readonly verified: number;
}

export async function recordMigrations(
  open: () => Promise<RecordStore>,
  batch: CanonicalMigrationInputList,
  now: number,
): Promise<RecordedMigrations> {
  const migrations = readMigrations(batch);
  if (migrations.length === 0) return { recorded: 0, verified: 0 };
  const nowUtc = formatUtc(now);
  const store = await open();
  const recorded = await store.transact(LEDGER_SCOPE, migrationKeys(migrations), (found) =>
    decideMigrations(migrations, nowUtc, found),
  );
  return { recorded, verified: migrations.length - recorded };
}

/** The whole ledger, by namespace, then id, as it was at one moment. */
export function listCanonicalMigrations(
  dependencies: CanonicalDependencies,
): Handler<'listCanonicalMigrations'> {
  return async () => {
    const store = await dependencies.store();
    for (let reading = 0; reading < READINGS_MAX; reading++) {
      const { receipts, pages } = await readLedger(store);
      // Counted after the last page: a ledger only grows, so one that has no more than was read did not change meanwhile.
      if (pages === 1 || (await countMigrations(store)) === receipts.length) {
        return { status: 200, body: receipts };
      }
    }
    throw new StoreError('contention', 'the migration ledger grew during every reading of it');
  };
}

/** How many migrations the ledger holds. */
export async function countMigrations(store: RecordStore): Promise<number> {
  const page = await store.query(LEDGER_SCOPE, { by: 'keys', keys: [{ key: LEDGER_COUNT }] });
  return ledgerCount(page.records[0]);
}

async function readLedger(store: RecordStore) {
  const receipts: CanonicalMigrationReceipt[] = [];
  let pages = 0;
  const ledger = { collection: MIGRATIONS, limit: PAGE_RECORDS };
  for await (const { records } of listPages(store, LEDGER_SCOPE, ledger, { pagesMax: PAGES_MAX })) {
    receipts.push(...records.map(readReceipt));
    pages += 1;
  }
  return { receipts, pages };
}
