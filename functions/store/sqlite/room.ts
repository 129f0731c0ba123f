import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type RecordData, StoreError } from '../port.ts';
import type { Connection } from './connection.ts';

/**
 * Left free on the disk by whatever adds data; on a small disk a share of it. Deleting is writing too: on a disk that is
 * full to the last byte nothing could be taken away any more, and the write-ahead log could not be copied. So what makes
 * room, and what delivers events, goes on when commits and loads are refused.
 */
const keptBytesMax = 32 * 1024 * 1024;
const keptShare = 1 / 10;

/** The write-ahead log takes at most such a share of a small disk before it is copied into the database file. */
const logShare = 1 / 16;

const pageBytes = 4096;
const recordBytes = 1024;

/** A reading of the disk holds so long, and until such a share of what is kept was written. */
const readingMs = 100;
const readingShare = 1 / 16;

interface Disk {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

const boundless: Disk = { totalBytes: Number.POSITIVE_INFINITY, freeBytes: Number.POSITIVE_INFINITY };

/** The disk of a database, as its file system reports it. A file system that reports nothing is never short of room. */
export class Room {
  readonly #folder: string;
  #reading: { readonly disk: Disk; readonly at: number; readonly written: number } | undefined;

  constructor(path: string) {
    this.#folder = dirname(path);
  }

  /** Pages in the write-ahead log before they are copied, at most `pages`. */
  logPages(pages: number): number {
    return Math.max(1, Math.min(pages, Math.floor((this.#disk().totalBytes * logShare) / pageBytes)));
  }

  /** Whether less is left than what is kept free. */
  isShort(connection: Connection): boolean {
    const disk = this.#disk();
    return disk.freeBytes === 0 || lacks(connection, disk, 0);
  }

  /**
   * Throws `full` where new data would take the room that is kept; tells whether there is known to be room. `now` in
   * milliseconds.
   */
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

  /** The same of records to load, a batch of which may be larger than what is kept. */
  checkLoad(connection: Connection, records: readonly RecordData[]): void {
    // What is loaded lies in the log first, and then in the file.
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
  throw new StoreError('full', 'what is left on the disk of the database is kept for what makes room');
}

function lacks(connection: Connection, disk: Disk, bytes: number): boolean {
  const wanted = keptBytes(disk) + bytes;
  if (disk.freeBytes >= wanted) return false;
  // Pages of the file that nothing lies in any more are room as well.
  const row = connection.get<{ freelist_count: number }>('PRAGMA freelist_count');
  return disk.freeBytes + (row?.freelist_count ?? 0) * pageBytes < wanted;
}

/** About what a record takes with its entries in indexes; most bodies are ASCII. */
function sizeOf({ body, parts }: RecordData): number {
  return (parts ?? []).reduce((sum, part) => sum + part.body.length, recordBytes + (body?.length ?? 0));
}

function keptBytes({ totalBytes }: Disk): number {
  return Math.min(keptBytesMax, totalBytes * keptShare);
}
