import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { entrySize } from '../loading.ts';
import { type RecordData, StoreError } from '../port.ts';
import type { Connection } from './connection.ts';

/**
 * Free space that commits and loads leave on the disk; on a small disk a share of it. Deleting also writes: on a disk that
 * is full to the last byte no deletion could be made, and the write-ahead log could not be copied. So deletions and
 * deliveries of events continue when commits and loads are refused.
 */
const keptBytesMax = 32 * 1024 * 1024;
const keptShare = 1 / 10;

/** The write-ahead log takes at most such a share of a small disk before it is copied into the database file. */
const logShare = 1 / 16;

const pageBytes = 4096;
const recordBytes = 1024;

/**
 * The time for which a measurement of the disk is valid, and the share of the reserve whose writing ends it earlier.
 */
const readingMs = 100;
const readingShare = 1 / 16;

interface Disk {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

const boundless: Disk = { totalBytes: Number.POSITIVE_INFINITY, freeBytes: Number.POSITIVE_INFINITY };

/** The disk of a database, as its file system reports it. A file system that reports nothing is never short of room. */
export class DiskRoom {
  readonly #folder: string;
  #reading: { readonly disk: Disk; readonly at: number; readonly written: number } | undefined;

  constructor(path: string) {
    this.#folder = dirname(path);
  }

  /** Pages in the write-ahead log before they are copied, at most `pages`. */
  logPages(pages: number): number {
    return Math.max(1, Math.min(pages, Math.floor((this.#disk().totalBytes * logShare) / pageBytes)));
  }

  /** Whether less space is left than the reserve. */
  isShort(connection: Connection): boolean {
    const disk = this.#disk();
    return disk.freeBytes === 0 || lacks(connection, disk, 0);
  }

  /** Throws `full` where new data would use the reserve; returns whether room is known to exist. `now` in milliseconds. */
  checkWrite(connection: Connection, now: number): boolean {
    const { written } = connection;
    const last = this.#reading;
    const holds =
      last !== undefined &&
      Math.abs(now - last.at) < readingMs &&
      written - last.written < keptBytes(last.disk) * readingShare;
    if (holds && !lacks(connection, last.disk, 0)) return true;
    const disk = this.#disk();
    this.#reading = { disk, at: now, written };
    return check(connection, disk, 0);
  }

  /** Checks the room for records to load: a batch of them may be larger than the reserve. */
  checkLoad(connection: Connection, records: readonly RecordData[]): void {
    // Loaded records are written twice: to the log first, and then to the file.
    const bytes = 2 * records.reduce((sum, record) => sum + sizeOf(record), 0);
    check(connection, this.#disk(), bytes);
  }

  #disk(): Disk {
    try {
      const { bsize, blocks, bavail } = statfsSync(this.#folder);
      if (blocks > 0) return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
    } catch {
      // Treated like a file system that reports nothing: the next write shows whether it has room.
    }
    return boundless;
  }
}

function check(connection: Connection, disk: Disk, bytes: number): boolean {
  if (!lacks(connection, disk, bytes)) return true;
  // Some file systems report zero free blocks although they have room. On a full one the write itself fails.
  if (disk.freeBytes === 0) return false;
  throw new StoreError('full', 'the free space on the disk of the database is reserved for deletions');
}

function lacks(connection: Connection, disk: Disk, bytes: number): boolean {
  const wanted = keptBytes(disk) + bytes;
  if (disk.freeBytes >= wanted) return false;
  // Unused pages of the file count as free space too.
  const row = connection.get<{ freelist_count: number }>('PRAGMA freelist_count');
  return disk.freeBytes + (row?.freelist_count ?? 0) * pageBytes < wanted;
}

/** The approximate size of a record with its entries in indexes; most bodies are ASCII. */
function sizeOf({ body, parts, search }: RecordData): number {
  const own = recordBytes + (body?.length ?? 0) + entrySize(search);
  return (parts ?? []).reduce((sum, part) => sum + part.body.length, own);
}

function keptBytes({ totalBytes }: Disk): number {
  return Math.min(keptBytesMax, totalBytes * keptShare);
}
