import type { DatabaseSync } from 'node:sqlite';
import { machine } from '../../functions/compose/machine.ts';
import { openToRead } from '../../functions/store/sqlite/read-only.ts';
import { ProgressLine } from '../progress.ts';
import { type Check, failed, messageOf, ok } from './check.ts';
import { unlessWritten } from './written.ts';

const ID = 'database-pages';
/** The number of faults that are named; SQLite ends a check at the same number. */
const NAMED_MAX = 100;
const REMEDY =
  'Stop the service, keep a copy of the file, and restore a backup: svc backup-restore. Look at the disk and the memory of the machine too.';

/** Reads every page of a SQLite file, and holds each table against its indexes. No byte of the file changes. */
export function pageChecks(path: string, verbose: boolean): Promise<Check[]> {
  return unlessWritten(path, () => allPages(path, verbose));
}

async function allPages(path: string, verbose: boolean): Promise<Check[]> {
  const progress = new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose });
  try {
    const database = openToRead(path, 10_000);
    try {
      const { faults, pages, pageSize } = await faultsOf(database, progress);
      if (faults.length === 0) return [ok(ID, `${path}: ${pages} pages of ${pageSize} bytes are sound.`)];
      return checksOf(path, faults);
    } finally {
      database.close();
    }
  } catch (error) {
    return checksOf(path, [messageOf(error)]);
  } finally {
    progress.end();
  }
}

function checksOf(path: string, faults: readonly string[]): Check[] {
  const named = faults.slice(0, NAMED_MAX).map((fault) => failed(ID, `${path}: ${fault}.`, REMEDY));
  const more = faults.length > named.length ? ` or more; ${named.length} are named` : '';
  return [
    ...named,
    failed(ID, `${path} is damaged: ${faults.length} faults${more}${pagesText(faults)}.`, REMEDY),
  ];
}

/** SQLite numbers pages from 1. */
function pagesText(faults: readonly string[]): string {
  const numbers = faults.flatMap((fault) => /\bpage (\d+)/i.exec(fault)?.[1] ?? []).map(Number);
  const pages = [...new Set(numbers)].sort((a, b) => a - b);
  if (pages.length === 0) return '';
  return `, of ${pages.length === 1 ? 'page' : 'pages'} ${pages.join(', ')}`;
}

async function faultsOf(database: DatabaseSync, progress: ProgressLine) {
  const numberOf = (pragma: string) => Number(Object.values(database.prepare(pragma).get() ?? {})[0]);
  const pages = numberOf('PRAGMA page_count');
  const pageSize = numberOf('PRAGMA page_size');
  const faults = new Set<string>();
  const turns = machine.turns.of(ID);
  const run = (check: string) => {
    try {
      for (const row of database.prepare(check).iterate()) faults.add(faultOf(row));
    } catch (error) {
      faults.add(messageOf(error));
    }
  };
  progress.show({ step: `checking ${pages} pages of ${pageSize} bytes`, records: 0, recordsTotal: null });
  await turns.next();
  run(`PRAGMA quick_check(${NAMED_MAX})`);
  const tables = tablesOf(database, faults);
  for (const [index, table] of tables.entries()) {
    progress.show({
      step: `checking the table ${table} and its indexes, ${index + 1} of ${tables.length}`,
      records: 0,
      recordsTotal: null,
    });
    await turns.next();
    run(`PRAGMA integrity_check("${table.replaceAll('"', '""')}")`);
  }
  run('PRAGMA foreign_key_check');
  faults.delete('ok');
  return { faults: [...faults], pages, pageSize };
}

function tablesOf(database: DatabaseSync, faults: Set<string>): string[] {
  try {
    const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage`;
    return database
      .prepare(sql)
      .all()
      .map(({ name }) => String(name));
  } catch (error) {
    faults.add(messageOf(error));
    return [];
  }
}

/** A line of a check of pages, or a row whose foreign key names no row. */
function faultOf(row: Readonly<Record<string, unknown>>): string {
  if (!('parent' in row)) return String(Object.values(row)[0]);
  return `row ${String(row['rowid'])} of the table ${String(row['table'])} names a missing row of ${String(row['parent'])}`;
}
