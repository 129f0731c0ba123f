import { existsSync, lstatSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { exitCodes, ToolError } from '../output.ts';
import { artifactsName, type DataPlaces, databaseName, verifyBackup } from './backup.ts';
import { describeFile, filesUnder, requireSound, syncFolder } from './copy.ts';

export interface RestoredBackup {
  readonly createdAt: string;
  /** Where the present data are now; `null` where there were none. */
  readonly before: string | null;
}

/**
 * Puts a verified backup in the place of the data of a stopped server. The present data stay beside it under another name, so
 * that a mistaken restore is undone by a rename.
 */
export async function restoreBackup(
  folder: string,
  places: DataPlaces,
  { replace, now }: { readonly replace: boolean; readonly now: Date },
): Promise<RestoredBackup> {
  const { createdAt } = await verifyBackup(folder);
  const { database, artifacts } = places;
  const present = existsSync(database);
  if (present && !replace) {
    throw new ToolError(`${database} exists: give --replace to set it aside`, exitCodes.conflict);
  }
  if (present) requireStopped(database);
  await mkdir(dirname(database), { recursive: true, mode: 0o700 });
  const suffix = `before-${now.toISOString().replace(/[-:]|\.\d+/g, '')}`;
  const next = { database: `${database}.restoring`, artifacts: `${artifacts}.restoring` };
  await copyWhole(folder, next);
  for (const part of databaseParts) await moveIfThere(`${database}${part}`, `${database}.${suffix}${part}`);
  await moveIfThere(artifacts, `${artifacts}.${suffix}`);
  await moveIfThere(next.artifacts, artifacts);
  await rename(next.database, database);
  await giveToOwner(dirname(database), [database, artifacts]);
  await syncFolder(dirname(database));
  return { createdAt, before: present ? `${database}.${suffix}` : null };
}

/** SQLite replays a log into any database of its name: a log moves with the database that it belongs to. */
const databaseParts = ['', '-wal', '-shm', '-journal'] as const;

/** The copies are whole and on disk before the present data move: a full disk leaves these where they are. */
async function copyWhole(folder: string, { database, artifacts }: DataPlaces): Promise<void> {
  await copyFile(join(folder, databaseName), database);
  await chmod(database, 0o600);
  requireSound(database, join(folder, databaseName));
  await describeFile(dirname(database), basename(database));
  await rm(artifacts, { recursive: true, force: true });
  if (!existsSync(join(folder, artifactsName))) return;
  await mkdir(dirname(artifacts), { recursive: true, mode: 0o700 });
  await cp(join(folder, artifactsName), artifacts, { recursive: true });
  await chmod(artifacts, 0o700);
  for (const path of await filesUnder(artifacts)) await describeFile(artifacts, path);
}

async function moveIfThere(from: string, to: string): Promise<void> {
  if (existsSync(from)) await rename(from, to);
}

/**
 * SQLite leaves the write-ahead log only where no other connection is open; the log is then part of the file. A damaged
 * database cannot show whether another process has it open: it is moved as it is, with its log.
 */
function requireStopped(path: string): void {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } catch (error) {
    if (isDamage(error)) return;
    const message = `${path} is in use: stop the service and every other process that has it open`;
    throw new ToolError(message, exitCodes.conflict, { cause: error });
  } finally {
    database.close();
  }
}

/** SQLITE_CORRUPT or SQLITE_NOTADB; the higher bits of a code say more. */
function isDamage(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number };
  return errcode !== undefined && [11, 26].includes(errcode & 0xff);
}

/** Root restores for the user of the service, who owns the data folder. */
async function giveToOwner(folder: string, paths: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = lstatSync(folder);
  for (const path of paths) await giveAll(path, uid, gid);
}

async function giveAll(path: string, uid: number, gid: number): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  await chown(path, uid, gid);
  if (!found.isDirectory()) return;
  for (const entry of await readdir(path)) await giveAll(join(path, entry), uid, gid);
}
