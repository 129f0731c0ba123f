import { limits } from '../../../../contracts/generated/limits.ts';
import type {
  CanonicalMigrationInputList,
  CanonicalMigrationReceipt,
} from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { listHeaders } from '../../../http/list-headers.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import { walkPages } from '../../../store/pages.ts';
import type { Moment, RecordStore } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { LEDGER_COUNT, LEDGER_SCOPE, MIGRATIONS } from '../records.ts';
import { decideMigrations, ledgerCount, migrationKeys, readReceipt } from './migration.ts';
import { readMigrations } from './migration-request.ts';

const PAGE_RECORDS = 500;

/** The query that the page tokens of this list are bound to. */
const LIST_QUESTION = { operation: 'listCanonicalMigrations' };

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
  /** Migrations that the ledger held with the same checksum. */
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

/** Lists the ledger in pages, sorted by namespace and id. Each page is a consistent read of one moment. */
export function listCanonicalMigrations(
  dependencies: CanonicalDependencies,
  listedMax: number = limits.migrationLedgerMax,
): Handler<'listCanonicalMigrations'> {
  const { pageTokens } = dependencies;
  return async ({ query }) => {
    const from = await pageTokens.read(LIST_QUESTION, query.continuationToken);
    const store = await dependencies.store();
    const { receipts, next } = await store.snapshot(LEDGER_SCOPE, (moment) =>
      readLedger(moment, listedMax, from),
    );
    const continuationToken = await pageTokens.issue(LIST_QUESTION, next);
    const headers = listHeaders(
      '/canonical/migrations',
      {},
      {
        next: continuationToken === null ? null : { continuationToken },
        cut: true,
      },
    );
    return { status: 200, body: receipts, headers };
  };
}

/** The number of migrations in the ledger. */
export async function countMigrations(store: RecordStore): Promise<number> {
  const page = await store.query(LEDGER_SCOPE, { by: 'keys', keys: [{ key: LEDGER_COUNT }] });
  return ledgerCount(page.records[0]);
}

async function readLedger(moment: Moment, listedMax: number, from: string | null) {
  const receipts: CanonicalMigrationReceipt[] = [];
  const pages = walkPages(
    (after) => {
      const limit = Math.min(PAGE_RECORDS, listedMax - receipts.length);
      return moment.query({ by: 'list', collection: MIGRATIONS, limit, ...after });
    },
    { from },
  );
  for await (const { records, next } of pages) {
    receipts.push(...records.map(readReceipt));
    if (receipts.length === listedMax) return { receipts, next };
  }
  return { receipts, next: null };
}
