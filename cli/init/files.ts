import { lstatSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exitCodes, ToolError } from '../output.ts';

/** A file that a command writes. */
export interface NewFile {
  readonly name: string;
  readonly text: string;
  /** Whether only its owner may read it. */
  readonly secret: boolean;
  /** The purpose of the file, for the list that the command prints. */
  readonly purpose: string;
}

/** Writes all files or, where one exists and `force` is false, none. A killed run leaves whole files only. */
export async function writeFiles(folder: string, files: readonly NewFile[], force: boolean): Promise<void> {
  const there = files.filter(({ name }) => exists(join(folder, name)));
  if (there.length > 0 && !force) {
    const names = there.map(({ name }) => name).join(', ');
    throw new ToolError(`${folder} already holds ${names}: give --force to replace them`, exitCodes.conflict);
  }
  for (const file of files) await writeWhole(join(folder, file.name), file);
}

/** The text of a file; `null` if there is no file. */
export async function textAt(path: string): Promise<string | null> {
  return exists(path) ? readFile(path, 'utf8') : null;
}

/** Whether a file or link exists, also a link that leads nowhere. */
export function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Writes beside the place and renames: a reader sees the old text or the new one. */
export async function writeWhole(
  path: string,
  { text, secret }: Pick<NewFile, 'text' | 'secret'>,
): Promise<void> {
  // An existing folder keeps its mode: the operator may let the service read it.
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.part`;
  await writePart(part, text, async (file) => {
    // The umask decides nothing: a strict one would keep the settings from the service.
    if (!secret) await file.chmod(0o644);
  });
  await rename(part, path);
}

/** Writes a text beside its place; `prepare` gives the file its rights while it is empty. */
export async function writePart(
  part: string,
  text: string,
  prepare: (file: FileHandle) => Promise<void>,
): Promise<void> {
  await rm(part, { force: true });
  const file = await open(part, 'wx', 0o600);
  try {
    await prepare(file);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
