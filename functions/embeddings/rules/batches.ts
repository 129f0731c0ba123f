import type { BatchLimits } from '../embedder.ts';

/** The service has no tokenizer; a token has about four bytes of English, and in few languages less than three. */
const BYTES_PER_TOKEN = 3;

/** An upper estimate of the tokens of texts. */
export function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN), 0);
}

/** The texts in their order, in as few calls as the limits allow. A text beyond the limits is sent alone: the provider judges it. */
export function splitBatches(
  texts: readonly string[],
  { textsMax, tokensMax }: BatchLimits,
): readonly string[][] {
  const batches: string[][] = [];
  let current: string[] = [];
  let tokens = 0;
  for (const text of texts) {
    const own = tokensOf([text]);
    if (current.length > 0 && (current.length === textsMax || tokens + own > tokensMax)) {
      batches.push(current);
      [current, tokens] = [[], 0];
    }
    current.push(text);
    tokens += own;
  }
  return current.length === 0 ? batches : [...batches, current];
}
