import { connected } from './connected.ts';
import { APIResponseError } from './errors.ts';
import { GatheredBytes } from './gathered.ts';
import { methodOf, type OperationName } from './operation.ts';

/** The longest answer that the client holds in memory: twice the largest JSON answer of the service. */
export const RESPONSE_BYTES_MAX = 128 * 1024 * 1024;

/** A problem document is short, so the client reads no more of a refusal than this. */
export const REFUSAL_BYTES_MAX = 1024 * 1024;

/**
 * The decoded body of an answer. It stops reading beyond `bytesMax`: a small compressed body can decode to one that fills
 * the memory of the caller.
 */
export async function boundedBody(
  operation: OperationName,
  response: Response,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  const gathered = new GatheredBytes();
  for (;;) {
    const { done, value } = (await connected(operation, async () => reader?.read())) ?? { done: true };
    if (done) break;
    if (gathered.size + value.length > bytesMax) {
      reader?.cancel().catch(() => {});
      throw new APIResponseError(`${methodOf(operation)}: the answer is longer than ${bytesMax} bytes.`, {
        operation: operation.id,
      });
    }
    gathered.add(value);
  }
  return gathered.whole();
}

/** The service nests no answer more deeply. */
const DEPTH_MAX = 1000;

/** A shorter text costs little memory with any content. */
const SHALLOW_LENGTH_MAX = 1024 * 1024;

/** Whether a long JSON text is nested so deeply that its value would take a hundred times the memory of the text. */
export function isDeep(text: string): boolean {
  if (text.length <= SHALLOW_LENGTH_MAX) return false;
  let depth = 0;
  for (let at = 0; at < text.length && depth <= DEPTH_MAX; at += 1) {
    const character = text.charCodeAt(at);
    if (character === 0x22) at = endOfString(text, at);
    else if (character === 0x5b || character === 0x7b) depth += 1;
    else if (character === 0x5d || character === 0x7d) depth -= 1;
  }
  return depth > DEPTH_MAX;
}

/** The place of the quote that ends the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  let end = from;
  let escapes: number;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
  } while (escapes % 2 === 1);
  return end;
}
