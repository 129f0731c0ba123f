import { existsSync, lstatSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { exitCodes, ToolError } from '../output.ts';
import { artifactsName, type DataPlaces, databaseName, verifyBackup } from './backup.ts';
import { requireSound } from './copy.ts';

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
  // The copy is whole before the present data move.
  const next = `${database}.restoring`;
  await copyFile(join(folder, databaseName), next);
  await chmod(next, 0o600);
  requireSound(next);
  if (present) await rename(database, `${database}.${suffix}`);
  if (existsSync(artifacts)) await rename(artifacts, `${artifacts}.${suffix}`);
  if (existsSync(join(folder, artifactsName))) await copyFolder(join(folder, artifactsName), artifacts);
  await rename(next, database);
  await giveToOwner(dirname(database), [database, artifacts]);
  return { createdAt, before: present ? `${database}.${suffix}` : null };
}

/** SQLite leaves the write-ahead log only where no other connection is open; the log is then part of the file. */
function requireStopped(path: string): void {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } catch (error) {
    const message = `${path} is in use: stop the service and every other process that has it open`;
    throw new ToolError(message, exitCodes.conflict, { cause: error });
  } finally {
    database.close();
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, errorOnExist: true, force: false });
  await chmod(to, 0o700);
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
