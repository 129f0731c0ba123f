import { existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { databasePath } from '../../functions/compose/database-path.ts';
import { ProcessLocks } from '../../functions/store/sqlite/process-locks.ts';
import { exitCodes, ToolError } from '../output.ts';
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
  if (isInUse(databasePath(settings)))
    throw new ToolError(`A server uses the data in ${folder}. Stop it first`, exitCodes.conflict);
  if (!options.yes) await confirm(folder, options);
  rmSync(folder, { recursive: true, force: true });
}

/** A process that executes runs holds a lock beside the database. */
function isInUse(database: string): boolean {
  return existsSync(database) && new ProcessLocks(database).isAnyAlive();
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
