import type { JsonObject } from '../../kernel/canonical-json.ts';

/** Estimated bytes of UTF-8 per token when the provider reports no usage: a safe estimate for texts in Latin letters. */
const BYTES_PER_TOKEN = 3;
const MILLION = 1_000_000;

/** Tokens of a call of a model. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the provider reported them; else they are estimated from bytes. */
  readonly isReported: boolean;
  /** Tokens that the provider reports beyond the possible use of the call; absent without any. */
  readonly excessTokens?: number;
}

/** The most tokens that a call can have used. */
export interface UsageBounds {
  readonly input: number;
  readonly output: number;
}

/** A template of the server, and the marks around each message or text. */
const CALL_MARGIN_TOKENS = 1_024;
const TEXT_MARGIN_TOKENS = 16;

/** A token has one byte at least. */
export function inputTokensMax(bytes: number, texts: number): number {
  return bytes + texts * TEXT_MARGIN_TOKENS + CALL_MARGIN_TOKENS;
}

/** Some servers count the end marks beyond the limit of the call. */
export function outputTokensBound(outputTokensMax: number): number {
  return outputTokensMax + CALL_MARGIN_TOKENS;
}

/** US dollars for a million tokens; `null`: not known. */
export interface Prices {
  readonly input: number | null;
  readonly output: number | null;
}

export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The usage that a provider reports where its two counts are whole numbers, else the estimate; both within the bounds. */
export function usageOf(
  reported: { readonly input: unknown; readonly output: unknown },
  bytes: { readonly input: number; readonly output: number },
  most: UsageBounds,
): Usage {
  const { input, output } = reported;
  if (isCount(input) && isCount(output)) return bounded(input, output, most);
  return {
    inputTokens: Math.min(estimatedTokens(bytes.input), most.input),
    outputTokens: Math.min(estimatedTokens(bytes.output), most.output),
    isReported: false,
  };
}

function bounded(input: number, output: number, most: UsageBounds): Usage {
  const [inputTokens, outputTokens] = [Math.min(input, most.input), Math.min(output, most.output)];
  const excess = Math.min(input - inputTokens + (output - outputTokens), Number.MAX_SAFE_INTEGER);
  const usage = { inputTokens, outputTokens, isReported: true };
  return excess > 0 ? { ...usage, excessTokens: excess } : usage;
}

/** Whether a reported number of tokens is a valid count. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The sum over several calls; `null` for none. */
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

/**
 * US dollars; `null` where a price is missing for tokens that were used.
 * @testonly
 */
export function costOf({ inputTokens, outputTokens }: Usage, { input, output }: Prices): number | null {
  if ((inputTokens > 0 && input === null) || (outputTokens > 0 && output === null)) return null;
  return (inputTokens * (input ?? 0) + outputTokens * (output ?? 0)) / MILLION;
}

/** The usage as a trace shows it. */
export function usageView(usage: Usage, prices: Prices): JsonObject {
  const { inputTokens, outputTokens, isReported } = usage;
  return { inputTokens, outputTokens, isReported, costUsd: costOf(usage, prices) };
}
