import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { StoreError } from '../port.ts';

/** The first bytes of the file's header, https://www.sqlite.org/fileformat2.html#the_database_header */
const magic = 'SQLite format 3\0';
const pageSizeAt = 16;
const headerBytes = 18;

/**
 * Throws `corrupt` when the database file ends within a page. SQLite detects missing whole pages itself, but reads the
 * rest of a cut page as zeros. With a write-ahead log beside the file, the cut may be valid: the power failed during a
 * copy of the log, and the log has the page.
 */
export function checkWholePages(path: string): void {
  // The log first: a process that closes the database removes it once the file is whole.
  if (sizeOf(`${path}-wal`) > 0) return;
  const size = sizeOf(path);
  const pageSize = size > 0 ? pageSizeOf(path) : undefined;
  if (pageSize === undefined || size % pageSize === 0) return;
  throw new StoreError(
    'corrupt',
    `the file is cut off: ${size} bytes are no multiple of its pages of ${pageSize}`,
  );
}

/** 0 for a file that does not exist, and for names that are no file, such as `:memory:`. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** `undefined` for a file that is no database, which SQLite reports itself, and for an impossible page size. */
function pageSizeOf(path: string): number | undefined {
  const header = Buffer.alloc(headerBytes);
  const file = openSync(path, 'r');
  let read: number;
  try {
    read = readSync(file, header);
  } finally {
    closeSync(file);
  }
  const isDatabase = read === headerBytes && header.toString('latin1', 0, magic.length) === magic;
  const stored = header.readUInt16BE(pageSizeAt);
  if (!isDatabase || (stored !== 1 && stored < 512)) return undefined;
  return stored === 1 ? 65_536 : stored;
}
