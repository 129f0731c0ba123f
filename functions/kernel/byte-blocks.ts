import type { Turns } from './turns.ts';

/** Smaller pieces are copied into blocks; a piece of at least this size is kept without a copy. */
const LARGE_BYTES = 4 * 1024;
const BLOCK_BYTES = 16 * 1024;
/** Pieces of any size that each stream may have, and the bytes that allow it one more. */
const PIECES_FREE = 2_048;
const BYTES_PER_PIECE = 128;

/**
 * Gathers a stream in memory. A client chooses the size of its pieces, and a piece of one byte takes a hundred times as much
 * memory as its byte. So small pieces are copied into blocks: the memory held is the received bytes and at most one block.
 */
export class ByteBlocks {
  #blocks: Uint8Array[] = [];
  #open: Buffer | null = null;
  #used = 0;
  #size = 0;
  readonly #blockBytes: number;

  constructor(blockBytes = BLOCK_BYTES) {
    this.#blockBytes = blockBytes;
  }

  /** Bytes that were added. */
  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    const { length } = piece;
    // Most streams are one piece, which needs no copy.
    const isKept = length >= Math.min(LARGE_BYTES, this.#blockBytes) || this.#size === 0;
    this.#size += length;
    if (isKept) {
      this.#close();
      if (length > 0) this.#blocks.push(piece);
      return;
    }
    this.#opened(length).set(piece, this.#used);
    this.#used += length;
  }

  /** Adds the UTF-8 of a text, encoded directly into the open block if that has room. */
  addText(text: string): void {
    // A UTF-16 unit takes three bytes at most.
    const most = 3 * text.length;
    const length = most <= this.#blockBytes - this.#used ? most : Buffer.byteLength(text);
    if (length > this.#blockBytes) {
      this.#close();
      this.#blocks.push(Buffer.from(text));
      this.#size += length;
      return;
    }
    const written = this.#opened(length).write(text, this.#used);
    this.#used += written;
    this.#size += written;
  }

  /** The block that has room for `length` more bytes. */
  #opened(length: number): Buffer {
    if (this.#open !== null && this.#used + length <= this.#blockBytes) return this.#open;
    this.#close();
    this.#open = Buffer.allocUnsafeSlow(this.#blockBytes);
    return this.#open;
  }

  /** All bytes so far, in the order of their blocks. */
  blocks(): readonly Uint8Array[] {
    this.#close();
    return this.#blocks;
  }

  /** All bytes so far, in one buffer. */
  whole(): Buffer {
    this.#close();
    const [only] = this.#blocks;
    const whole =
      only !== undefined && this.#blocks.length === 1
        ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
        : Buffer.concat(this.#blocks, this.#size);
    this.#blocks = whole.length > 0 ? [whole] : [];
    return whole;
  }

  /** Returns all bytes so far, and drops them. */
  take(): Buffer {
    const taken = this.whole();
    this.#blocks = [];
    this.#size = 0;
    return taken;
  }

  #close(): void {
    if (this.#open !== null) this.#blocks.push(this.#open.subarray(0, this.#used));
    this.#open = null;
    this.#used = 0;
  }
}

/** Counts the pieces of a stream: each costs the process a turn, however few bytes it has. */
export class PieceCount {
  #left: number;

  constructor(free = PIECES_FREE) {
    this.#left = free;
  }

  /** `false` once the stream has more pieces than its bytes allow. */
  passed(bytes: number): boolean {
    this.#left += bytes / BYTES_PER_PIECE - 1;
    return this.#left >= 0;
  }
}

/** The fault of a stream: too many bytes, or too many pieces for its bytes. */
export type StreamFault = 'bytes' | 'pieces';

/**
 * Gathers a stream that another program sends. For more than `bytesMax` bytes, or for too many pieces, it throws the error that
 * `refuse` returns, and reads no further. With `turns` the stream waits while other calls work.
 */
export async function gatherBlocks(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
  refuse: (fault: StreamFault) => Error,
  turns?: Turns,
): Promise<ByteBlocks> {
  const blocks = new ByteBlocks();
  const pieces = new PieceCount();
  for await (const piece of stream) {
    if (blocks.size + piece.byteLength > bytesMax) throw refuse('bytes');
    if (!pieces.passed(piece.byteLength)) throw refuse('pieces');
    blocks.add(piece);
    if (turns?.due() === true) await turns.next();
  }
  return blocks;
}

/** As `gatherBlocks`, in one buffer. */
export async function gatherBytes(...given: Parameters<typeof gatherBlocks>): Promise<Buffer> {
  return (await gatherBlocks(...given)).whole();
}
