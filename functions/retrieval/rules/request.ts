import { limits } from '../../../contracts/generated/limits.ts';
import { type FilterNode, readFilter } from '../../collections/rules/filter.ts';
import { checkCollectionName } from '../../collections/rules/policy.ts';
import { type LexicalRequest, readLexicalQuery } from '../../collections/search/lexical-query.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { RetrievalRequest } from './asked.ts';
import { type HybridOptions, readHybrid } from './hybrid.ts';
import { checkMost, checkWhole, given, readWord } from './members.ts';
import { withProfile } from './profiles.ts';
import { type RerankOptions, readRerank } from './rerank-options.ts';
import { readVectorFields, type VectorField } from './vector-fields.ts';

type SearchMode = 'vector' | 'lexical' | 'hybrid';

/** A checked retrieval: profiles and defaults are applied, and limits hold. */
export interface Retrieval {
  /** The id of the profile in the spelling of the profile; `null` without one. */
  readonly profile: string | null;
  readonly query: string;
  /** Each once, in the order of the request. */
  readonly collections: readonly string[];
  readonly partitionKeys: readonly string[] | null;
  readonly filter: FilterNode | null;
  readonly mode: SearchMode;
  /** At least one; none in the mode `lexical`. */
  readonly vectors: readonly VectorField[];
  /** `null` in the mode `vector`. Its query is filled in. */
  readonly lexical: LexicalRequest | null;
  readonly hybrid: HybridOptions;
  /** `null`: results are not reranked. */
  readonly rerank: RerankOptions | null;
  readonly limit: number;
  readonly minScore: number | null;
  readonly includeTrace: boolean;
  /** The place of the retrieval in its request, which refusals name. */
  readonly pointer: string;
}

/**
 * Reads a retrieval. `candidatesMax` is the number of candidates of a search by words that the deployment scores. Throws
 * `validation_failed` or `limit_exceeded` naming the member below `pointer`.
 */
export function readRetrieval(request: RetrievalRequest, candidatesMax: number, pointer = ''): Retrieval {
  const { request: filled, profile } = withProfile(request, pointer);
  const { query, filter, partitionKeys, minScore, includeTrace } = filled;
  if (query.trim() === '') throw invalidMember(`${pointer}/query`, 'must not be blank');
  if (!query.isWellFormed()) throw invalidMember(`${pointer}/query`, 'must be well-formed Unicode');
  const limit = filled.limit ?? limits.retrievalLimitDefault;
  checkWhole(limit, `${pointer}/limit`, limits.retrievalLimitMax);
  // Scores are numbers of single precision.
  if (given(minScore) && !Number.isFinite(Math.fround(minScore)))
    throw invalidMember(`${pointer}/minScore`, 'must be a finite number of single precision');
  // The paths that a collection indexes need further checks, once the collection is known.
  readFilter(filter, [], `${pointer}/filter`);
  const mode = modeOf(filled, pointer);
  // All members are checked in every mode, so that a change of the mode alone is never refused.
  const vectors = readVectorFields(filled, pointer, vectorsPointer(request, pointer));
  const lexical = readLexical(filled, mode, { candidatesMax, pointer });
  return {
    profile,
    query,
    collections: readCollections(filled.collections, pointer),
    partitionKeys: partitionKeys ?? null,
    filter: filter ?? null,
    mode,
    vectors: mode === 'lexical' ? [] : vectors,
    lexical,
    hybrid: readHybrid(filled.hybrid ?? {}, `${pointer}/hybrid`),
    rerank: readRerank(filled.rerank ?? {}, `${pointer}/rerank`),
    limit,
    minScore: minScore ?? null,
    includeTrace: includeTrace ?? false,
    pointer,
  };
}

/** The member that asks for the vectors, where the request lists none. A profile may name the field. */
function vectorsPointer({ embedding, searchMode, profile }: RetrievalRequest, pointer: string): string {
  if (given(embedding)) return `${pointer}/embedding/field`;
  if (given(searchMode) && searchMode.trim() !== '') return `${pointer}/searchMode`;
  return given(profile) ? `${pointer}/profile` : `${pointer}/embedding/field`;
}

/** The search by words with its query; `null` in the mode `vector`. */
function readLexical(
  { query, lexical }: RetrievalRequest,
  mode: SearchMode,
  { candidatesMax, pointer }: { readonly candidatesMax: number; readonly pointer: string },
): LexicalRequest | null {
  const isOwn = given(lexical?.query) && lexical.query.trim() !== '';
  const asked = { ...lexical, query: isOwn ? lexical.query : query };
  if (mode === 'vector' && !given(lexical)) return null;
  const place = isOwn ? `${pointer}/lexical/query` : `${pointer}/query`;
  if ((asked.query ?? '').length > limits.searchQueryLengthMax) {
    const detail = `must be at most ${limits.searchQueryLengthMax} characters for a search by words`;
    throw invalidMember(place, detail, 'limit_exceeded');
  }
  readLexicalQuery(asked, candidatesMax, `${pointer}/lexical`);
  return mode === 'vector' ? null : asked;
}

function modeOf({ searchMode, embedding, vectorFields }: RetrievalRequest, pointer: string): SearchMode {
  const isAboutVectors = given(embedding) || (vectorFields ?? []).length > 0;
  const implied = isAboutVectors ? 'vector' : 'lexical';
  return readWord(searchMode, implied, ['vector', 'lexical', 'hybrid'], `${pointer}/searchMode`);
}

function readCollections(names: readonly string[], pointer: string): readonly string[] {
  if (names.length === 0) throw invalidMember(`${pointer}/collections`, 'must name a collection');
  checkMost(names, limits.retrievalCollectionsMax, `${pointer}/collections`);
  for (const [index, name] of names.entries()) checkCollectionName(name, `${pointer}/collections/${index}`);
  return [...new Set(names)];
}
