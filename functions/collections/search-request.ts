import { invalidMember } from '../kernel/errors.ts';
import { type QueryRequest, type RecordQuery, readQuery } from './page-request.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import type { EntryFormat } from './search/formats.ts';
import { type LexicalQuery, type LexicalRequest, readLexicalQuery } from './search/lexical-query.ts';
import { readVectorQuery, type VectorQuery, type VectorSearchRequest } from './search/vector-query.ts';

/** A search of a request, whose members have the types that its schema names. Without `vector` and `lexical` it is a query. */
export interface SearchRequest extends QueryRequest {
  readonly vector?: VectorSearchRequest | null;
  readonly lexical?: LexicalRequest | null;
}

/** A search that was checked against the policy of its collection. */
export type RecordSearchQuery =
  | { readonly mode: 'vector'; readonly query: RecordQuery; readonly vector: VectorQuery }
  | { readonly mode: 'lexical'; readonly query: RecordQuery; readonly lexical: LexicalQuery };

/** Whether the request ranks records instead of listing them. */
export function isRanked({ vector, lexical }: SearchRequest): boolean {
  return isGiven(vector) || isGiven(lexical);
}

export interface SearchTerms {
  /** How many candidates of a lexical search the deployment scores. */
  readonly candidatesMax: number;
  /** Those of the entries of the collection. */
  readonly formats: readonly EntryFormat[];
  /** The place of the search in its request. Absent: its root. */
  readonly pointer?: string | undefined;
}

/** Reads a request that `isRanked`. Throws `validation_failed`, `limit_exceeded` or `continuation_token_invalid` below `pointer`. */
export function readSearch(
  request: SearchRequest,
  policy: CollectionPolicy,
  { candidatesMax, formats, pointer = '' }: SearchTerms,
): RecordSearchQuery {
  const { vector, lexical, orderBy } = request;
  if (isGiven(vector) && isGiven(lexical))
    throw invalidMember(`${pointer}/lexical`, 'must be absent where vector is given');
  if (isGiven(orderBy) && orderBy.length > 0)
    throw invalidMember(`${pointer}/orderBy`, 'must be absent: a search orders its answer by score');
  const query = readQuery(request, policy, pointer);
  if (isGiven(vector)) return { mode: 'vector', query, vector: readVectorQuery(vector, policy, formats) };
  if (isGiven(lexical))
    return {
      mode: 'lexical',
      query,
      lexical: readLexicalQuery(lexical, candidatesMax, `${pointer}/lexical`),
    };
  throw new TypeError('the request ranks no records');
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}
