import type { IncomingMessage } from 'node:http';
import { ByteBlocks } from '../functions/kernel/byte-blocks.ts';

/**
 * The text of a request body; `null` for one over `bytesMax`, which is read to its end and dropped: a client that is still
 * sending would not read the answer.
 */
export async function drainedBody(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const blocks = new ByteBlocks();
  let size = 0;
  for await (const piece of request as AsyncIterable<Uint8Array>) {
    size += piece.byteLength;
    if (size <= bytesMax) blocks.add(piece);
  }
  return size > bytesMax ? null : blocks.whole().toString();
}
