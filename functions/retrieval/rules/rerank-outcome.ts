/** The report of one retrieval about its reranking. */
export interface RerankOutcome {
  readonly provider: string;
  /** The trace that the provider wrote of its run; `null` without one. */
  readonly traceId: string | null;
  /** `null`: the results have the order of the reranker. */
  readonly failure: RerankFailure | null;
  readonly candidates: number;
  /** Bytes of the request to the reranker, as UTF-8. */
  readonly payloadBytes: number;
  /** The most bytes of the mode; `null`: unlimited. */
  readonly inputBytesMax: number | null;
}

export interface RerankFailure {
  /** The class of the provider failure. */
  readonly failureClass: string;
  readonly providerStatus: string;
}
