import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { compose, type Service } from '../../functions/compose/compose.ts';
import { databasePath } from '../../functions/compose/database-path.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { Settings } from '../../functions/config/table.ts';
import { openToRead } from '../../functions/store/sqlite/read-only.ts';
import { schemaVersion } from '../../functions/store/sqlite/schema.ts';
import { searchVersion } from '../../functions/store/sqlite/search-schema.ts';
import { withLook } from '../look.ts';
import { at } from '../store-place.ts';
import { type Check, failed, messageOf, ok, warning } from './check.ts';
import { folderCheck, type MayUse } from './folder.ts';
import { faultWithin, silence } from './in-time.ts';
import { spaceCheck } from './machine.ts';
import { unlessDatabaseWritten, unlessWritten } from './written.ts';

const answerMaxMs = 15_000;
const closeMaxMs = 2_000;

/** The additional checks of `--deep`. */
export interface DeepChecks {
  /** The checks of a local file, also of one that cannot be opened. */
  readonly pages: (path: string) => Promise<Check[]>;
  /** The checks of a database that answers. */
  readonly bodies: (settings: Settings) => Promise<Check[]>;
  readonly verbose: boolean;
}

/** Checks the configured database, and its folder if it is a local file. No byte of the file changes. */
export async function storageChecks(
  settings: Settings,
  deep: DeepChecks | null = null,
  mayUse: MayUse = access,
): Promise<Check[]> {
  const { enabled, provider } = settings.canonicalStore;
  if (!enabled) return [ok('database', 'The canonical store is disabled.')];
  if (provider !== 'sqlite') return openChecks(settings, deep);
  const path = databasePath(settings);
  const folder = await folderCheck(dirname(path), mayUse, deep !== null);
  if (!folder.isReadable) return [folder.check];
  return [folder.check, await spaceCheck(folder.nearest), ...(await placeChecks(settings, path, deep))];
}

async function openChecks(settings: Settings, deep: DeepChecks | null): Promise<Check[]> {
  const opened = await unlessDatabaseWritten(settings, () => openedChecks(settings));
  const answers = opened.every(({ status }) => status !== 'failed');
  return !answers || deep === null ? opened : [...opened, ...(await deep.bodies(settings))];
}

/** Where the file is read in a copy, the checks name the file. */
async function placeChecks(settings: Settings, path: string, deep: DeepChecks | null): Promise<Check[]> {
  try {
    return await withLook(path, deep?.verbose === true, async (place) => {
      const checks = await fileChecks(at(settings, place), place, deep);
      return place === path ? checks : checks.map((check) => naming(check, place, path));
    });
  } catch (error) {
    const remedy = 'Look again, or copy the file and its log to a folder of their own and look there.';
    return [failed('database', `${messageOf(error)}.`, remedy)];
  }
}

function naming(check: Check, place: string, path: string): Check {
  const { message, remedy } = check;
  const named = (text: string) => text.replaceAll(place, path);
  return { ...check, message: named(message), remedy: remedy === null ? null : named(remedy) };
}

async function fileChecks(settings: Settings, path: string, deep: DeepChecks | null): Promise<Check[]> {
  let file = is(ok('database', ''));
  const header = await unlessWritten(path, async () => {
    file = await fileCheck(path, deep !== null);
    return [file.check];
  });
  const pages = deep === null || !file.isThere ? [] : await deep.pages(path);
  // Opening the store would create a missing database or migrate an old one; a check must do neither.
  const database = file.check.status === 'ok' && file.openable ? await openChecks(settings, deep) : header;
  return [...pages, ...database];
}

interface FileCheck {
  readonly check: Check;
  /** Whether opening the file changes nothing. */
  readonly openable: boolean;
  readonly isThere: boolean;
}

function is(check: Check, openable = false, isThere = true): FileCheck {
  return { check, openable, isThere };
}

/** The header of the file, read without changing it. */
async function fileCheck(path: string, isLook: boolean): Promise<FileCheck> {
  const file = await stat(path).catch(() => undefined);
  const remedy = 'Check CanonicalStore:DatabasePath, or take the file from a backup.';
  if (file === undefined) {
    const check = isLook
      ? warning('database', `${path} is not there: nothing was read.`, remedy)
      : ok('database', `${path} is not there yet; the first start makes it.`);
    return is(check, false, false);
  }
  let found: Found;
  try {
    found = look(path);
  } catch (error) {
    return is(failed('database', `${path} cannot be read: ${messageOf(error)}.`, remedy));
  }
  const { version, searches, tables, own } = found;
  if (tables === 0) return is(ok('database', `${path} is empty; the first start makes its tables.`));
  if (own === 0) return is(failed('database', `${path} is a database of something else.`, remedy));
  if (version > schemaVersion) {
    const message = `${path} was written by a newer release (schema ${version}; this one knows ${schemaVersion}).`;
    return is(failed('database', message, 'Use that release, or a newer one.'));
  }
  if (version < schemaVersion) {
    const message = `${path} has schema ${version}; the next start brings it to ${schemaVersion}.`;
    return is(warning('database', message, 'Copy the file before, while nothing runs on it.'));
  }
  if (searches > searchVersion) {
    const message = `${path} was written by a newer release (version ${searches} of the tables of searches; this one knows ${searchVersion}).`;
    return is(failed('database', message, 'Use that release, or a newer one.'));
  }
  if (searches < searchVersion) {
    return is(ok('database', `${path} can be read; the next start makes the tables of searches.`));
  }
  return is(ok('database', `${path} can be read.`), true);
}

interface Found {
  readonly version: number;
  readonly searches: number;
  readonly tables: number;
  readonly own: number;
}

function look(path: string): Found {
  const database = openToRead(path, 2_000);
  try {
    const row = database
      .prepare(
        `SELECT (SELECT user_version FROM pragma_user_version) AS version, count(*) AS tables,
           count(*) FILTER (WHERE name IN ('scopes', 'records')) AS own,
           count(*) FILTER (WHERE name = 'search_versions') AS searched FROM sqlite_schema`,
      )
      .get();
    const searches =
      row?.['searched'] === 1
        ? database.prepare('SELECT max(version) AS version FROM search_versions').get()?.['version']
        : 0;
    return {
      version: Number(row?.['version']),
      searches: Number(searches),
      tables: Number(row?.['tables']),
      own: Number(row?.['own']),
    };
  } finally {
    database.close();
  }
}

/** Opens the store as the service does and checks that it answers. */
async function openedChecks(settings: Settings): Promise<Check[]> {
  const { provider } = settings.canonicalStore;
  const service = compose(settings, { readOnly: true, writeLog: () => undefined });
  // The ceilings have a time limit of their own: slow reads of them are no fault of the database.
  const fault = await faultWithin(machine.timers, answerMaxMs, async () => (await service.store()).ping());
  const ceilings = fault === undefined ? await ceilingsOf(settings, service) : [];
  // A store that hangs on a read may hang on close too.
  const closed = await faultWithin(machine.timers, closeMaxMs, () => service.close());
  if (closed === silence) leaveSoon();
  if (fault === undefined) return [ok('database', `The provider ${provider} answers.`), ...ceilings];
  const remedy =
    provider === 'sqlite'
      ? 'Check CanonicalStore:DatabasePath and the rights on the file.'
      : 'Check that the database runs, and the settings that lead to it: svc config show.';
  return [failed('database', `The provider ${provider} does not answer: ${fault}.`, remedy)];
}

/** Loads the engine of runs, which other commands need not load. */
async function ceilingsOf(settings: Settings, service: Pick<Service, 'store'>): Promise<Check[]> {
  const { ceilingChecks } = await import('./ceilings.ts');
  return ceilingChecks(settings, await service.store());
}

/** Exit even if a driver still waits for its database. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), 1_000).unref();
}
