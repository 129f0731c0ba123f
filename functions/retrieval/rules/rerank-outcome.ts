/** What one retrieval says of its reranking. */
export interface RerankOutcome {
  readonly provider: string;
  /** The trace that the provider wrote of its run; `null` without one. */
  readonly traceId: string | null;
  /** `null`: the results have the order of the reranker. */
  readonly failure: RerankFailure | null;
  readonly candidates: number;
  /** Of the request to the reranker, as UTF-8. */
  readonly payloadBytes: number;
  /** Of its mode; `null`: unlimited. */
  readonly inputBytesMax: number | null;
}

export interface RerankFailure {
  /** One of the classes of provider failures. */
  readonly failureClass: string;
  readonly providerStatus: string;
}
