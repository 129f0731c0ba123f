import type { FilterNode } from '../../collections/rules/filter.ts';
import type { LexicalRequest } from '../../collections/search/lexical-query.ts';
import type { HybridRequest } from './hybrid.ts';
import type { RerankRequest } from './rerank-options.ts';
import type { EmbeddingOptions, VectorFieldRequest } from './vector-fields.ts';

/** A retrieval of a request, whose members have the types that its schema names. */
export interface RetrievalRequest {
  readonly profile?: string | null;
  readonly query: string;
  readonly collections: readonly string[];
  readonly partitionKeys?: readonly string[] | null;
  readonly filter?: FilterNode | null;
  readonly embedding?: EmbeddingOptions | null;
  readonly vectorFields?: readonly VectorFieldRequest[] | null;
  readonly searchMode?: string | null;
  readonly lexical?: LexicalRequest | null;
  readonly hybrid?: HybridRequest | null;
  readonly rerank?: RerankRequest | null;
  readonly limit?: number | null;
  readonly minScore?: number | null;
  readonly includeTrace?: boolean | null;
}
