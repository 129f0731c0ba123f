import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { release } from '../../functions/release.ts';
import { exitCodes, ToolError } from '../output.ts';
import {
  type CopiedFile,
  copyArtifacts,
  copyDatabase,
  describeFile,
  filesUnder,
  requireSound,
  syncFolder,
} from './copy.ts';
import { BACKUP_MANIFEST } from './manifest-name.ts';

export const databaseName = 'svc.canonical.sqlite';
export const artifactsName = 'artifacts';
const format = 'svc-backup-1';

/** Where the data of an embedded server lie. */
export interface DataPlaces {
  readonly database: string;
  readonly artifacts: string;
}

export interface BackupManifest {
  readonly format: typeof format;
  readonly createdAt: string;
  readonly release: string;
  readonly files: readonly CopiedFile[];
}

/** The name of a backup: the time of its beginning, so that names sort by age. */
const name = /^\d{8}T\d{6}Z$/;

/**
 * Copies database and artifacts of a server that may be running. The manifest comes last, and the folder gets its name at the
 * end: an interrupted backup is no backup.
 */
export async function makeBackup(places: DataPlaces, parent: string, now: Date): Promise<string> {
  const folder = join(parent, now.toISOString().replace(/[-:]|\.\d+/g, ''));
  const part = `${folder}.part`;
  await mkdir(parent, { recursive: true, mode: 0o700 });
  try {
    await mkdir(part, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new ToolError(`${folder}: another backup began in this second`, exitCodes.conflict);
  }
  try {
    await copyArtifacts(places.artifacts, join(part, artifactsName));
    await copyDatabase(places.database, join(part, databaseName));
    await copyArtifacts(places.artifacts, join(part, artifactsName));
    await chmod(join(part, databaseName), 0o600);
    const files = await describeAll(part, await filesUnder(part));
    const manifest: BackupManifest = {
      format,
      createdAt: now.toISOString(),
      release: release.version,
      files,
    };
    await writeFile(join(part, BACKUP_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    await describeFile(part, BACKUP_MANIFEST);
    await syncFolder(part);
    await rename(part, folder);
    await syncFolder(parent);
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    throw naming(error, part, folder);
  }
  return folder;
}

/** The error with the name that the backup would have: nothing of the other name is left. */
function naming(error: unknown, part: string, folder: string): unknown {
  if (!(error instanceof Error)) return error;
  const message = error.message.replaceAll(part, folder);
  if (error instanceof ToolError) return new ToolError(message, error.exitCode, { cause: error });
  const { path } = error as NodeJS.ErrnoException;
  return Object.assign(error, {
    message,
    ...(path === undefined ? {} : { path: path.replaceAll(part, folder) }),
  });
}

/**
 * Removes the oldest backups beyond the number to keep, and the leftovers of interrupted ones. The newest backup stays even where
 * a wrong clock gave older ones later names.
 */
export async function removeOld(parent: string, keep: number, newest: string): Promise<string[]> {
  const entries = (await readdir(parent)).sort();
  const complete = entries.filter((entry) => name.test(entry));
  const own = relative(parent, newest);
  const isLeft = (entry: string) => /^\d{8}T\d{6}Z\.part$/.test(entry) && entry < own;
  const tooMany = complete.slice(0, Math.max(0, complete.length - keep)).filter((entry) => entry !== own);
  const gone = [...tooMany, ...entries.filter(isLeft)];
  for (const entry of gone) await rm(join(parent, entry), { recursive: true, force: true });
  return gone;
}

/** The complete backups of the folder. */
export async function countBackups(parent: string): Promise<number> {
  return (await readdir(parent)).filter((entry) => name.test(entry)).length;
}

/** Reads a backup to its end; throws where a file is missing, changed or added, or the database is damaged. */
export async function verifyBackup(folder: string): Promise<BackupManifest> {
  const manifest = await readManifest(folder);
  const found = (await filesUnder(folder)).filter((path) => path !== BACKUP_MANIFEST);
  const listed = new Map(manifest.files.map((file) => [file.path, file]));
  for (const path of found) {
    if (!listed.has(path)) throw new ToolError(`${join(folder, path)} is not in the manifest`);
  }
  for (const file of manifest.files) {
    if (!found.includes(file.path)) throw new ToolError(`${join(folder, file.path)} is missing`);
    const { sha256 } = await describeFile(folder, file.path);
    if (sha256 !== file.sha256) throw new ToolError(`${join(folder, file.path)} was changed or is damaged`);
  }
  requireSound(join(folder, databaseName));
  return manifest;
}

async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, BACKUP_MANIFEST);
  let manifest: BackupManifest;
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as BackupManifest;
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const lacking = existsSync(folder)
      ? `${folder} is no complete backup: it has no manifest`
      : `${folder}: there is no such folder. svc backup prints the folder of each backup`;
    const message = missing ? lacking : `${path} is damaged`;
    throw new ToolError(message, missing ? exitCodes.notFound : exitCodes.failed, { cause: error });
  }
  if (manifest.format !== format || !Array.isArray(manifest.files))
    throw new ToolError(`${path} is not the manifest of a backup`);
  return manifest;
}

async function describeAll(folder: string, paths: readonly string[]): Promise<CopiedFile[]> {
  const files: CopiedFile[] = [];
  for (const path of paths) files.push(await describeFile(folder, path));
  return files;
}
