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

/** Whether a number of tokens that a provider says can be one. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** What several calls took together; `null` of none. */
export function totalUsage(usages: readonly Usage[]): Usage | null {
  if (usages.length === 0) return null;
  return {
    inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    isReported: usages.every(({ isReported }) => isReported),
  };
}

/** The tokens that a provider counted; `null` of an estimate. */
export function reportedTokens({ inputTokens, outputTokens, isReported }: Usage): number | null {
  return isReported ? inputTokens + outputTokens : null;
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
