import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { compose, type Service } from '../functions/compose/compose.ts';
import { databasePath } from '../functions/compose/database-path.ts';
import { machine } from '../functions/compose/machine.ts';
import { composeRunTool } from '../functions/compose/run-tool.ts';
import { placeOf } from '../functions/compose/store.ts';
import { inputOf } from '../functions/config/machine.ts';
import type { Settings } from '../functions/config/table.ts';
import type { EventState } from '../functions/groups/canonical/outbox/outbox-event.ts';
import { DeliveredRetention } from '../functions/groups/canonical/outbox/retention.ts';
import type { Runtime } from '../functions/runs/runtime.ts';
import { NoStoreError, type RecordStore } from '../functions/store/port.ts';
import { openToRead } from '../functions/store/sqlite/read-only.ts';
import { notingWrites, withLook } from './look.ts';
import { exitCodes, ToolError, warn } from './output.ts';
import { at } from './store-place.ts';
import { readStoreSettings, type StoreOptions } from './store-settings.ts';

/** Refuses an empty option: an unset shell variable must not mean the default. */
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

/** The options that select the database. Default: the database of the service with these settings. */
export function withStoreOptions(command: Command): Command {
  command.optionsGroup('Which database (unless given: as the settings of the service say):');
  for (const [flags, description] of options) {
    command.addOption(new Option(flags, description).argParser(filled));
  }
  return command.optionsGroup('Other options:');
}

/** The part of a store that a dry run uses. */
export interface ReadStore {
  readonly scan: RecordStore['scan'];
  /** The database in words that are safe to show. */
  readonly place: string;
  /** Whether a delivered event is past its configured retention. */
  readonly isGone: (event: EventState, now: number) => boolean;
}

/** A store for a command. */
export interface OpenStore extends ReadStore {
  readonly store: RecordStore;
  readonly settings: Settings;
  /** The runs in it. */
  readonly runs: () => Promise<Runtime>;
}

export interface StoreUse {
  readonly verbose: boolean;
  /** Whether to create a missing SQLite file, or missing PostgreSQL or MySQL tables. */
  readonly create?: boolean;
  /** Whether the command only reads: then it changes no byte of a SQLite file, such as one of a backup. */
  readonly readOnly?: boolean;
}

/** Opens the store, passes it to `work`, and always closes it. */
export async function withStore<R>(
  storeOptions: StoreOptions,
  use: StoreUse,
  work: (opened: OpenStore) => Promise<R>,
): Promise<R> {
  const given = settingsOf(storeOptions);
  return atPlace(given, use, (settings) =>
    withService(settings, given, use, async (parts, service) => {
      const store = await service.store();
      const { log } = service;
      const runs = () => composeRunTool({ settings, world: machine, log }, service.store);
      return work({ ...parts, settings, store, runs, scan: (...request) => store.scan(...request) });
    }),
  );
}

/** Like `withStore`, but creates nothing: a missing database reads as empty. */
export async function withStoreToRead<R>(
  storeOptions: StoreOptions,
  { verbose, create = false }: StoreUse,
  work: (opened: ReadStore) => Promise<R>,
): Promise<R> {
  const given = settingsOf(storeOptions);
  return atPlace(given, { verbose, create, readOnly: true }, (settings) => {
    const path = settings.canonicalStore.provider === 'sqlite' ? databasePath(settings) : null;
    const use = { verbose, create: false, readOnly: true };
    return withService(settings, given, use, async (parts, service) => {
      async function* scan(...request: Parameters<RecordStore['scan']>) {
        if (path !== null && !existsSync(path)) return;
        try {
          yield* (await service.store()).scan(...request);
        } catch (error) {
          if (!create || !(error instanceof NoStoreError)) throw error;
        }
      }
      return work({ ...parts, scan });
    });
  });
}

/** Checks the database where it is a file. One that is only read may be read in a copy, which the settings then name. */
function atPlace<R>(
  given: Settings,
  { verbose, create = false, readOnly = false }: StoreUse,
  work: (settings: Settings) => Promise<R>,
): Promise<R> {
  if (given.canonicalStore.provider !== 'sqlite') return work(given);
  const path = databasePath(given);
  const checked = (place: string) => {
    checkFile(place, path, create);
    return work(at(given, place));
  };
  return readOnly
    ? withLook(path, verbose, (place) => notingWrites(place, () => checked(place)))
    : checked(path);
}

function settingsOf(storeOptions: StoreOptions): Settings {
  if (storeOptions.connectionString !== undefined) {
    warn('WARNING: others on this machine can read --connection-string in the list of processes.');
  }
  return readStoreSettings(storeOptions, inputOf('embedded', []));
}

async function withService<R>(
  settings: Settings,
  shown: Settings,
  { verbose, create = false, readOnly = false }: StoreUse,
  work: (parts: Omit<ReadStore, 'scan'>, service: Service) => Promise<R>,
): Promise<R> {
  const place = placeOf(shown);
  if (verbose) warn(`Database: ${place}`);
  const writeLog = (line: string) => (verbose ? warn(line) : undefined);
  const service = compose(settings, { createStore: create, readOnly, writeLog });
  try {
    return await work({ place, isGone: retention(settings, service) }, service);
  } catch (error) {
    if (!(error instanceof NoStoreError)) throw error;
    const message = `${place}: is not a database of the canonical store; a restore or a migration makes it one with --create`;
    throw new ToolError(message, exitCodes.notFound, { cause: error });
  } finally {
    await service.close();
  }
}

function retention(
  { canonicalStore }: Settings,
  { store, log }: Pick<Service, 'store' | 'log'>,
): OpenStore['isGone'] {
  const keptDays = canonicalStore.deliveredEventRetentionDays;
  const kept = new DeliveredRetention({ keptDays, store, clock: machine.clock, log });
  return (event, now) => kept.isGone(event, now);
}

/** Opening creates a missing file: a mistyped path would give an empty database that looks right. */
function checkFile(path: string, shown: string, create: boolean): void {
  if (!existsSync(path)) {
    if (create) return;
    throw new ToolError(
      `${shown}: there is no such database; --canonical-db or --provider names another`,
      exitCodes.notFound,
    );
  }
  if (!statSync(path).isFile()) throw new ToolError(`${shown}: is not a file`, exitCodes.failed);
  if (!holdsRecords(path, shown)) {
    throw new ToolError(`${shown}: is not a database of the canonical store`, exitCodes.failed);
  }
}

function holdsRecords(path: string, shown: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = openToRead(path, 5_000);
    const sql = `SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table' AND name IN ('scopes', 'records')`;
    return database.prepare(sql).get()?.['tables'] === 2;
  } catch (error) {
    if ((error as { readonly errcode?: unknown }).errcode === NOT_A_DATABASE) return false;
    throw new ToolError(`${shown}: ${(error as Error).message}`, exitCodes.failed, { cause: error });
  } finally {
    database?.close();
  }
}

/** SQLITE_NOTADB, https://www.sqlite.org/rescode.html#notadb */
const NOT_A_DATABASE = 26;
