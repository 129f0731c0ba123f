import { ByteBlocks } from '../../../functions/kernel/byte-blocks.ts';

const LINE_FEED = 0x0a;

/**
 * The lines of a stream, without their line feeds. The rest of a line over `bytesMax` is skipped, not kept, and `too-long` stands
 * in its place.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Buffer | 'too-long'> {
  let line = new OpenLine(bytesMax);
  for await (const bytes of chunks) {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      line.add(bytes.subarray(start, end));
      yield line.whole();
      line = new OpenLine(bytesMax);
      start = end + 1;
    }
    line.add(bytes.subarray(start));
  }
  const last = line.whole();
  if (last.length > 0) yield last;
}

class OpenLine {
  readonly #bytesMax: number;
  #kept: ByteBlocks | null = new ByteBlocks();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(piece: Uint8Array): void {
    if (this.#kept === null) return;
    if (this.#kept.size + piece.length > this.#bytesMax) this.#kept = null;
    else this.#kept.add(piece);
  }

  whole(): Buffer | 'too-long' {
    return this.#kept?.whole() ?? 'too-long';
  }
}

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
