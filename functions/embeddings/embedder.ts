/** The purpose of an embedding. Some models need a prefix for it in front of the text. */
export type EmbeddingPurpose = 'query' | 'passage' | 'document' | 'symmetric';

/** Prefixes that a model needs in front of the text; `null`: none. A document has the prefix of a passage. */
export interface EmbeddingPrefixes {
  readonly query: string | null;
  readonly passage: string | null;
  readonly symmetric: string | null;
}

export interface EmbedCall {
  readonly purpose: EmbeddingPurpose;
  readonly signal: AbortSignal;
  /** The space of the texts: spaces share the processor. */
  readonly space?: string;
  /** Awaited before each request to a provider: it throws if the request must not be sent. */
  readonly admit?: (() => Promise<void>) | undefined;
  /**
   * Gets the number of tokens in the answer of the provider, also of an answer that is then refused; `null` if it has none.
   * A model of the service does not call it.
   */
  readonly took?: ((tokens: number | null) => void) | undefined;
}

/** A model that computes the vectors of texts. */
export interface Embedder {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
  /** Each call costs money, so its results are stored. */
  readonly isPaid: boolean;
  /** The limits of one call. */
  readonly batch: BatchLimits;
  /**
   * The vectors of prepared texts, in their order: `dimensions` finite numbers each. The caller keeps to `batch`. Throws a
   * `ProviderFailure` if the provider does not answer them.
   */
  embed(texts: readonly string[], call: EmbedCall): Promise<readonly Float32Array[]>;
}

export interface BatchLimits {
  readonly textsMax: number;
  /** Tokens of all texts of a call, counted as their bytes of UTF-8 over 3. */
  readonly tokensMax: number;
}
