import { connected } from './answer.ts';
import { APIResponseError } from './errors.ts';

/** The longest answer that the client holds in memory: twice the largest JSON answer of the service. */
export const RESPONSE_BYTES_MAX = 128 * 1024 * 1024;

/** A problem document is short, so the client reads no more of a refusal than this. */
export const REFUSAL_BYTES_MAX = 1024 * 1024;

/**
 * The decoded body of an answer. It stops reading beyond `bytesMax`: a small compressed body can decode to one that fills
 * the memory of the caller.
 */
export async function boundedBody(
  operation: string,
  response: Response,
  bytesMax: number,
): Promise<ArrayBuffer> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = (await connected(operation, async () => reader?.read())) ?? { done: true };
    if (done) break;
    bytes += value.length;
    if (bytes > bytesMax) {
      reader?.cancel().catch(() => {});
      throw new APIResponseError(`${operation}: the answer is longer than ${bytesMax} bytes.`, { operation });
    }
    chunks.push(value);
  }
  return new Blob(chunks).arrayBuffer();
}
