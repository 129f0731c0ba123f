import type { EmbeddingPurposeWord } from '../rules/payloads.ts';
import type { ChatPrompt } from '../rules/prompts.ts';
import type { ChatCompletion } from '../rules/structured-answer.ts';
import type { Usage } from '../rules/usage.ts';
import type { RunMemory } from '../run-memory.ts';

/** The bounds of one call of a model. */
export interface ModelBounds {
  /** For all tries of the call. */
  readonly timeoutMs: number;
  /** Bytes of the answer: its content and the members around it. */
  readonly answerBytesMax: number;
  /** Bytes of the output as JSON; unlimited if absent. */
  readonly outputBytesMax?: number;
  /** The memory of the run, when another worker may resume it after a crash. */
  readonly memory?: RunMemory | null;
  readonly signal: AbortSignal;
  /** Awaited before each request: it throws where the request may not be sent. */
  readonly admit?: ((tokens?: number) => Promise<void>) | undefined;
  /** Gets the usage in the answer of the provider, also of an answer that is then refused. */
  readonly took?: ((usage: Usage) => void) | undefined;
}

/** The value that a model answered, and its usage. */
interface ModelAnswer<Value> {
  readonly value: Value;
  readonly usage: Usage;
}

/** A text without the key that was sent for it. */
interface ModelText extends ModelAnswer<ChatCompletion> {
  /** The API key, which the text may repeat with escapes; `null` if none was sent. */
  readonly secret: string | null;
}

export interface RankedDocument {
  /** The place of the document in the call. */
  readonly index: number;
  readonly score: number;
}

/**
 * A model over the network, with one member per ability. Each call throws a `ProviderFailure`, whose text repeats
 * nothing of the provider.
 */
export interface LiveModel {
  readonly complete?: (prompt: ChatPrompt, bounds: ModelBounds) => Promise<ModelText>;
  readonly rank?: (
    question: { readonly query: string; readonly documents: readonly string[]; readonly limit: number },
    bounds: ModelBounds,
  ) => Promise<ModelAnswer<readonly RankedDocument[]>>;
  readonly embed?: (
    question: { readonly texts: readonly string[]; readonly purpose: EmbeddingPurposeWord },
    bounds: ModelBounds,
  ) => Promise<ModelAnswer<EmbeddedTexts>>;
}

interface EmbeddedTexts {
  readonly dimensions: number;
  /** In the order of the texts. */
  readonly vectors: readonly (readonly number[])[];
}

/** The most output tokens of a call. The budget counts all of them before the call, because the real number is unknown then. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;
