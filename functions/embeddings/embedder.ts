/** What a text is embedded for. Some models want a prefix before the text for it. */
export type EmbeddingPurpose = 'query' | 'passage' | 'document' | 'symmetric';

/** Texts that a model wants in front of the text; `null`: none. A document has the prefix of a passage. */
export interface EmbeddingPrefixes {
  readonly query: string | null;
  readonly passage: string | null;
  readonly symmetric: string | null;
}

export interface EmbedCall {
  readonly purpose: EmbeddingPurpose;
  readonly signal: AbortSignal;
  /** Whose texts they are: spaces share the processor. */
  readonly space?: string;
  /** Awaited before each request to a provider: it throws where the request may not be sent. */
  readonly admit?: (() => Promise<void>) | undefined;
  /**
   * Gets the number of tokens in the answer of the provider, also of an answer that is then refused; `null` where it has none.
   * A model of the service tells nothing.
   */
  readonly took?: ((tokens: number | null) => void) | undefined;
}

/** A model that gives a text its vector. */
export interface Embedder {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
  /** Each call costs money: its results are worth keeping. */
  readonly isPaid: boolean;
  /** What one call takes. */
  readonly batch: BatchLimits;
  /**
   * The vectors of prepared texts, in their order: `dimensions` finite numbers each. The texts keep to `batch`. Throws a
   * `ProviderFailure` for a provider that does not give them.
   */
  embed(texts: readonly string[], call: EmbedCall): Promise<readonly Float32Array[]>;
}

export interface BatchLimits {
  readonly textsMax: number;
  /** Tokens of all texts of a call, counted as their bytes of UTF-8 over 3. */
  readonly tokensMax: number;
}
