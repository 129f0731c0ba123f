import { constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Check, failed, ok, warning } from './check.ts';

const remedy = 'Give the service a folder that it may write to: SVC_DATA_DIR or Server:DataDirectory.';

/** Whether a path may be used so, as `access` of the file system answers. */
export type MayUse = (path: string, mode: number) => Promise<void>;

export interface FolderCheck {
  readonly check: Check;
  /** The folder, or its nearest existing parent. */
  readonly nearest: string;
  /** Whether a look at its files makes sense. */
  readonly isReadable: boolean;
}

/** Whether the folder is writable or can be created. `isLook`: at data, which may be a copy that no service runs on. */
export async function folderCheck(folder: string, mayUse: MayUse, isLook: boolean): Promise<FolderCheck> {
  let nearest = folder;
  try {
    while ((await existing(nearest)) === undefined) nearest = dirname(nearest);
    await mayUse(nearest, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why =
      code === 'ENOTDIR' ? 'a part of its path is not a folder' : `it cannot be written to (${code})`;
    const message = `${folder}: ${why}.`;
    const isReadable = code !== 'ENOTDIR' && nearest === folder && (await mayEnter(folder, mayUse));
    const check =
      isLook && isReadable
        ? warning('data-folder', message, `No fault of a copy. Else: ${remedy}`)
        : failed('data-folder', message, remedy);
    return { check, nearest, isReadable };
  }
  if (isLook && nearest !== folder) {
    const message = `${folder} is not there: there is nothing to look at.`;
    const remedyOfLook =
      'Check SVC_DATA_DIR or Server:DataDirectory: a relative one is of the folder that the tool starts in.';
    return { check: warning('data-folder', message, remedyOfLook), nearest, isReadable: true };
  }
  const made = nearest === folder ? ' can be written to' : ' is not there yet; the first start makes it';
  return { check: ok('data-folder', `${folder}${made}.`), nearest, isReadable: true };
}

function mayEnter(folder: string, mayUse: MayUse): Promise<boolean> {
  return mayUse(folder, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function existing(folder: string): Promise<true | undefined> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (found === undefined) return undefined;
  if (!found.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  return true;
}
