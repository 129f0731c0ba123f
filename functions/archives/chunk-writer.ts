import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { sha256 } from '../kernel/canonical-json.ts';
import { type ArchiveChunk, CHUNK_BYTES_MAX, CHUNKS_MAX, chunkName } from './chunk-list.ts';
import type { ChunkSink } from './chunk-objects.ts';
import { SnapshotError } from './snapshot-error.ts';

const gzip = promisify(gzipCallback);

// Fixed, so that equal content gives equal archives on one machine. Another build of zlib may compress differently: the content
// hash of the snapshot is the same on every machine, the hash of the archive is not.
const GZIP_LEVEL = 6;
const GZIP_SYSTEM_BYTE = 9;
const UNKNOWN_SYSTEM = 255;
/** zlib returns output in pieces, by default of 16 KiB, and each costs a change of threads. Larger pieces are fewer. */
const PIECE_BYTES_MIN = 16 * 1024;

/** A record with its line, which ends in a line feed. */
export interface ArchiveLine<Entry> {
  readonly line: string;
  /** `null` if the line holds no record, such as the head line. */
  readonly entry: Entry | null;
}

/** The hash of the lines, and the number of records of each kind. */
export interface ArchiveTally<Entry> {
  addText(lines: Uint8Array): void;
  addEntry(entry: Entry | null): void;
}

/**
 * Fills chunks with lines, then compresses and writes them in their order, one at a time. The next chunk is filled while another
 * core compresses the one before.
 */
export class ChunkWriter<Entry, Tally extends ArchiveTally<Entry>> {
  readonly tally: Tally;
  readonly chunks: ArchiveChunk[] = [];
  readonly #sink: ChunkSink;
  readonly #chunkBytes: number;
  // Two buffers, used in turn: a new buffer for every chunk would burden the garbage collector.
  #filling: Buffer = Buffer.alloc(0);
  #resting: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #records = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(sink: ChunkSink, chunkBytes: number, tally: Tally) {
    this.tally = tally;
    this.#sink = sink;
    this.#chunkBytes = chunkBytes;
  }

  async fill(lines: AsyncIterable<ArchiveLine<Entry>>): Promise<void> {
    try {
      for await (const next of lines) {
        const bytes = Buffer.byteLength(next.line);
        if (bytes > CHUNK_BYTES_MAX) {
          throw new SnapshotError('over_limit', `a record is longer than ${CHUNK_BYTES_MAX} bytes`);
        }
        if (this.#bytes > 0 && this.#bytes + bytes > this.#chunkBytes) await this.#flush();
        this.#put(next, bytes);
      }
      if (this.#bytes > 0) await this.#flush();
      await this.#underWay;
    } catch (error) {
      // Wait for the chunk under way: after the caller has the error, nothing may be written.
      await this.#underWay.catch(() => undefined);
      throw error;
    }
  }

  #put({ line, entry }: ArchiveLine<Entry>, bytes: number): void {
    if (this.#filling.byteLength < this.#bytes + bytes) {
      this.#filling = Buffer.allocUnsafeSlow(Math.max(this.#chunkBytes, bytes));
    }
    this.#filling.write(line, this.#bytes);
    this.#bytes += bytes;
    this.tally.addEntry(entry);
    if (entry !== null) this.#records += 1;
  }

  /** Waits until the chunk before is written, because its buffer is filled next. */
  async #flush(): Promise<void> {
    const lines = this.#filling.subarray(0, this.#bytes);
    this.tally.addText(lines);
    await this.#underWay;
    this.#underWay = this.#write(lines, this.#records);
    // Prevents an unhandled rejection; the next call throws the error.
    this.#underWay.catch(() => undefined);
    [this.#filling, this.#resting] = [this.#resting, this.#filling];
    [this.#bytes, this.#records] = [0, 0];
  }

  async #write(lines: Buffer, records: number): Promise<void> {
    const content = await compressed(lines);
    const index = this.chunks.length;
    if (index >= CHUNKS_MAX) {
      throw new SnapshotError('over_limit', `an archive has at most ${CHUNKS_MAX} chunks; make them larger`);
    }
    this.chunks.push({ index, bytes: content.byteLength, records, hash: sha256(content) });
    await this.#sink.write(chunkName(index), content);
  }
}

async function compressed(lines: Buffer): Promise<Uint8Array> {
  const chunkSize = Math.max(PIECE_BYTES_MIN, lines.byteLength >> 1);
  const content = await gzip(lines, { level: GZIP_LEVEL, chunkSize });
  // zlib writes no time into the head, but it writes the operating system, which differs between machines.
  content[GZIP_SYSTEM_BYTE] = UNKNOWN_SYSTEM;
  return content;
}
