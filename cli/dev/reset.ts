import { existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { exitCodes, ToolError } from '../output.ts';
import { lockDatabases } from './databases.ts';
import type { DevSettings } from './settings.ts';

export interface ResetOptions {
  readonly yes: boolean;
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WritableStream;
}

/** Removes the data of `svc dev` in this folder, after a question. Data elsewhere, or in use, is never removed. */
export async function reset({ settings, hasOwnData }: DevSettings, options: ResetOptions): Promise<void> {
  const folder = settings.service.dataDirectory;
  if (!hasOwnData)
    throw new ToolError(
      '--reset removes .svc of this folder, and the settings put the data elsewhere',
      exitCodes.usage,
    );
  if (!existsSync(folder)) return;
  // The locks are held until the folder is gone, so that no server starts in it during the question.
  const release = locked(folder);
  try {
    if (!options.yes) await confirm(folder, options);
    rmSync(folder, { recursive: true, force: true });
  } finally {
    release();
  }
}

function locked(folder: string): () => void {
  let release: (() => void) | null;
  try {
    release = lockDatabases(folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Whether a server uses the data in ${folder} cannot be found out: ${reason}. Nothing was removed`;
    throw new ToolError(message, exitCodes.failed, { cause: error });
  }
  if (release === null)
    throw new ToolError(`A server uses the data in ${folder}. Stop it first`, exitCodes.conflict);
  return release;
}

async function confirm(folder: string, { input, output }: ResetOptions): Promise<void> {
  if (!input.isTTY) {
    const message = `--reset removes all data in ${folder}, and there is no terminal to ask. Give --yes to go on`;
    throw new ToolError(message, exitCodes.usage);
  }
  const reader = createInterface({ input, output });
  try {
    const ended = new Promise<string>((settle) => reader.once('close', () => settle('')));
    const answer = await Promise.race([reader.question(`Remove all data in ${folder}? Type yes: `), ended]);
    if (answer.trim().toLowerCase() !== 'yes') throw new ToolError('Nothing was removed', exitCodes.failed);
  } finally {
    reader.close();
  }
}
