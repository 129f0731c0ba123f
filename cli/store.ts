import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { EventState } from '../functions/canonical/outbox-event.ts';
import { DeliveredRetention } from '../functions/canonical/retention.ts';
import { compose, databasePath, machine } from '../functions/compose.ts';
import { inputOf } from '../functions/config/machine.ts';
import type { Settings } from '../functions/config/table.ts';
import type { RecordStore } from '../functions/store/port.ts';
import { exitCodes, ToolError, warn } from './output.ts';
import { placeOf, readStoreSettings, type StoreOptions } from './store-settings.ts';

/** For options: a variable of the shell that is not set must not mean the default. */
export function filled(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is blank.');
  return text;
}

const options: readonly (readonly [flags: string, description: string])[] = [
  ['--db <path>', 'SQLite: the file of the records; the canonical store is its sibling .canonical.sqlite'],
  ['--canonical-db <path>', 'SQLite: the file of the canonical store itself'],
  ['--provider <name>', 'sqlite, firestore, postgresql or mysql'],
  [
    '--connection-string <url>',
    'PostgreSQL, MySQL: shows in ps; better CanonicalStore__ConnectionString in the environment',
  ],
  ['--connection-string-file <path>', 'PostgreSQL, MySQL: a file that holds the connection string'],
  ['--project <id>', 'Firestore: the project'],
  ['--database <id>', 'Firestore: the database in it'],
  ['--emulator-host <host:port>', 'Firestore: an emulator instead of the cloud'],
  ['--settings <file>', 'a settings file instead of svcsettings.json'],
];

/** The options that say which database. Without them it is the one of the service that would start here. */
export function withStoreOptions(command: Command): Command {
  command.optionsGroup('Which database (unless given: as the settings of the service say):');
  for (const [flags, description] of options) {
    command.addOption(new Option(flags, description).argParser(filled));
  }
  return command.optionsGroup('Other options:');
}

/** A store that a command works on. */
export interface OpenStore {
  readonly store: RecordStore;
  /** Which one, in words that are safe to show. */
  readonly place: string;
  /** Whether a delivered event is past the retention that the settings give. */
  readonly isGone: (event: EventState, now: number) => boolean;
}

export interface StoreUse {
  readonly verbose: boolean;
  /** Whether a file of SQLite that does not exist is made. */
  readonly create?: boolean;
}

/** Opens the store, hands it to `work`, and closes it however that ends. */
export async function withStore<R>(
  storeOptions: StoreOptions,
  { verbose, create = false }: StoreUse,
  work: (opened: OpenStore) => Promise<R>,
): Promise<R> {
  if (storeOptions.connectionString !== undefined) {
    warn('WARNING: others on this machine can read --connection-string in the list of processes.');
  }
  const settings = readStoreSettings(storeOptions, inputOf('embedded', []));
  if (settings.canonicalStore.provider === 'sqlite') checkFile(databasePath(settings), create);
  const place = placeOf(settings);
  if (verbose) warn(`Database: ${place}`);
  const service = compose(settings, { writeLog: (line) => (verbose ? warn(line) : undefined) });
  try {
    return await work({ store: await service.store(), place, isGone: retention(settings, service) });
  } finally {
    await service.close();
  }
}

function retention(
  { canonicalStore }: Settings,
  { store, log }: Pick<ReturnType<typeof compose>, 'store' | 'log'>,
): OpenStore['isGone'] {
  const keptDays = canonicalStore.deliveredEventRetentionDays;
  const kept = new DeliveredRetention({ keptDays, store, clock: machine.clock, log });
  return (event, now) => kept.isGone(event, now);
}

/** Opening makes a missing file and the tables in it: after a slip of the pen, an empty database that looks like a right one. */
function checkFile(path: string, create: boolean): void {
  if (!existsSync(path)) {
    if (create) return;
    throw new ToolError(
      `${path}: there is no such database; --canonical-db or --provider names another`,
      exitCodes.notFound,
    );
  }
  if (!statSync(path).isFile()) throw new ToolError(`${path}: is not a file`, exitCodes.failed);
  if (!holdsRecords(path)) {
    throw new ToolError(`${path}: is not a database of the canonical store`, exitCodes.failed);
  }
}

function holdsRecords(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    const sql = `SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table' AND name IN ('scopes', 'records')`;
    return database.prepare(sql).get()?.['tables'] === 2;
  } catch (error) {
    if ((error as { readonly errcode?: unknown }).errcode === NOT_A_DATABASE) return false;
    throw new ToolError(`${path}: ${(error as Error).message}`, exitCodes.failed, { cause: error });
  } finally {
    database?.close();
  }
}

/** SQLITE_NOTADB, https://www.sqlite.org/rescode.html#notadb */
const NOT_A_DATABASE = 26;
