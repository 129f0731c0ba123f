import type { JsonObject } from '../../kernel/canonical-json.ts';

/** Bytes of UTF-8 of one token where nobody reports better: on the safe side for texts in Latin letters. */
const BYTES_PER_TOKEN = 3;
const MILLION = 1_000_000;

/** What a call of a model took. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the provider said so; else it is an estimate by bytes. */
  readonly isReported: boolean;
}

/** US dollars for a million tokens; `null`: not known. */
export interface Prices {
  readonly input: number | null;
  readonly output: number | null;
}

export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The usage that a provider reports where its two counts are whole numbers, else the estimate. */
export function usageOf(
  reported: { readonly input: unknown; readonly output: unknown },
  bytes: { readonly input: number; readonly output: number },
): Usage {
  const { input, output } = reported;
  if (isCount(input) && isCount(output))
    return { inputTokens: input, outputTokens: output, isReported: true };
  return {
    inputTokens: estimatedTokens(bytes.input),
    outputTokens: estimatedTokens(bytes.output),
    isReported: false,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** US dollars; `null` where a price is missing for tokens that were used. */
export function costOf({ inputTokens, outputTokens }: Usage, { input, output }: Prices): number | null {
  if ((inputTokens > 0 && input === null) || (outputTokens > 0 && output === null)) return null;
  return (inputTokens * (input ?? 0) + outputTokens * (output ?? 0)) / MILLION;
}

/** The usage as a trace shows it. */
export function usageView(usage: Usage, prices: Prices): JsonObject {
  const { inputTokens, outputTokens, isReported } = usage;
  return { inputTokens, outputTokens, isReported, costUsd: costOf(usage, prices) };
}
