import { CopyRefusal } from '../functions/archives/copy-refusal.ts';
import { SnapshotError, type SnapshotFault } from '../functions/archives/snapshot-error.ts';
import { ServiceError } from '../functions/kernel/errors.ts';
import { ConnectionStringError, StoreError, type StoreFailure } from '../functions/store/port.ts';
import { exitCodes, ToolError, type Translation } from './output.ts';

/** Translate errors of other parts into messages and exit codes of the tool. */
export const translations: readonly Translation[] = [
  refusedCopy,
  refusedRuns,
  refusedRequest,
  storeFailure,
  fileFailure,
];

/** A snapshot or archive that is damaged, of another tenant, or not the expected one. */
function refusedCopy(error: unknown): ToolError | undefined {
  if (!(error instanceof SnapshotError)) return undefined;
  const hint = copyHints[error.fault] ?? '';
  const message = hint === '' ? error.message : `${withoutStop(error.message)}${hint}`;
  return new ToolError(message, exitCodes.failed, { cause: error });
}

const copyHints: Partial<Readonly<Record<SnapshotFault, string>>> = {
  other_tenant: ' (it is a copy of another tenant than --tenant names)',
  other_space: ' (--space names the space)',
  newer_version: ' (use a newer release of this tool)',
  too_large: ' (canonical-archive-export)',
};

/**
 * The error of a failed restore and the state it left. If a store stops answering after the restore has `begun`, the
 * content may already be replaced; every other error means that it is not.
 */
export function restoreFailure(error: unknown, begun: boolean, what = 'tenant'): unknown {
  const known = refusedCopy(error) ?? storeFailure(error) ?? overQuota(error);
  if (known === undefined) return error;
  const after =
    begun && error instanceof StoreError && error.failure === 'unavailable'
      ? `Whether the ${what} was replaced is not known: the same restore may be run again.`
      : 'Nothing was replaced.';
  return new ToolError(`${withoutStop(known.message)}. ${after}`, known.exitCode, { cause: error });
}

/** Some messages end with a full stop and some do not. */
function withoutStop(text: string): string {
  return text.replace(/\.+$/, '');
}

/** Runs that are in the way of a copy or of a removal. */
function refusedRuns(error: unknown): ToolError | undefined {
  if (!(error instanceof CopyRefusal)) return undefined;
  return new ToolError(sentence(error.message), exitCodes.conflict, { cause: error });
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function refusedRequest(error: unknown): ToolError | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const place = error.extensions.errors?.[0]?.pointer;
  const message =
    place === undefined || error.message.includes(`${place}:`)
      ? error.message
      : `${withoutStop(error.message)} (at ${place || 'the top'})`;
  const conflict = error.code.endsWith('_conflict');
  return new ToolError(message, conflict ? exitCodes.conflict : exitCodes.failed, { cause: error });
}

function overQuota(error: unknown): ToolError | undefined {
  return error instanceof ServiceError && error.code === 'quota_exceeded' ? refusedRequest(error) : undefined;
}

const storeExits: Readonly<Record<StoreFailure, number>> = {
  contention: exitCodes.unavailable,
  unavailable: exitCodes.unavailable,
  too_large: exitCodes.failed,
  full: exitCodes.failed,
  corrupt: exitCodes.failed,
};

function storeFailure(error: unknown): ToolError | undefined {
  if (!(error instanceof StoreError)) return undefined;
  if (error instanceof ConnectionStringError) {
    return new ToolError(error.message, exitCodes.usage, { cause: error });
  }
  const message = `The database refused (${error.failure}): ${error.message}`;
  return new ToolError(message, storeExits[error.failure], { cause: error });
}

const fileWords: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'it would be larger than the file system lets a file be',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link',
  EMFILE: 'too many files are open',
  EIO: 'the device failed',
  ENAMETOOLONG: 'the name is too long',
};

/** The file system's own message names the path, but not in words for people. */
function fileFailure(error: unknown): ToolError | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  const { code, path } = error as NodeJS.ErrnoException;
  if (path === undefined && code !== 'ENOSPC' && code !== 'EDQUOT') return undefined;
  const place = path === undefined ? '' : `${path}: `;
  if (code === 'ENOENT') {
    return new ToolError(`${place}there is no such file or folder`, exitCodes.notFound, { cause: error });
  }
  return new ToolError(`${place}${fileWordsOf(code)}`, exitCodes.failed, { cause: error });
}

/** The system error `code` in words for people. */
export function fileWordsOf(code: string | undefined): string {
  return fileWords[String(code)] ?? `the file system answers ${String(code)}`;
}
