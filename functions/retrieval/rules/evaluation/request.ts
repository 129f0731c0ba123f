import { limits } from '../../../../contracts/generated/limits.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../kernel/errors.ts';
import type { RetrievalRequest } from '../asked.ts';
import { checkMost, checkWhole, given } from '../members.ts';
import { canDiffer, idsOf, type MatchRequest } from './matching.ts';

export interface ExpectedRequest extends MatchRequest {
  /** Above 0; default: 1. */
  readonly relevance?: number | null;
}

export interface HardNegativeRequest extends MatchRequest {
  readonly reason?: string | null;
}

/** One question with its right answers, as a request names it. */
export interface CaseRequest {
  readonly name?: string | null;
  readonly request: RetrievalRequest;
  readonly expected: readonly ExpectedRequest[];
  readonly hardNegatives?: readonly HardNegativeRequest[] | null;
  readonly k?: number | null;
  readonly metadata?: Json;
}

export interface EvaluationRequest {
  readonly cases: readonly CaseRequest[];
  readonly continueOnError?: boolean | null;
  readonly defaultK?: number | null;
  readonly includeTopResults?: boolean | null;
}

/** A variant of the retrieval of the cases: its members replace those of each case. */
export type VariantRequest = Partial<Omit<RetrievalRequest, 'query' | 'collections'>> & {
  readonly id: string;
  readonly label?: string | null;
  readonly collections?: readonly string[] | null;
};

export interface ComparisonRequest extends EvaluationRequest {
  readonly variants: readonly VariantRequest[];
  readonly includeCaseResults?: boolean | null;
}

export interface Evaluation {
  readonly cases: readonly CaseRequest[];
  readonly continueOnError: boolean;
  readonly defaultK: number | null;
  readonly includeTopResults: boolean;
}

export interface Comparison extends Evaluation {
  readonly variants: readonly VariantRequest[];
  readonly includeCaseResults: boolean;
}

/**
 * Reads an evaluation. Throws `validation_failed` or `limit_exceeded` naming the member. A fault of one case alone, such
 * as an unknown collection, does not refuse the request: that case fails.
 */
export function readEvaluation(request: EvaluationRequest): Evaluation {
  return evaluationOf(request, true);
}

/** Reads a comparison; throws as `readEvaluation` does. */
export function readComparison(request: ComparisonRequest): Comparison {
  const { variants, includeCaseResults } = request;
  if (variants.length === 0) throw invalidMember('/variants', 'must have a variant');
  checkMost(variants, limits.evaluationVariantsMax, '/variants');
  const ids = new Set<string>();
  for (const [index, { id }] of variants.entries()) {
    if (id.trim() === '') throw invalidMember(`/variants/${index}/id`, 'must not be blank');
    if (ids.has(id))
      throw invalidMember(`/variants/${index}/id`, 'must differ from the ids of the other variants');
    ids.add(id);
  }
  return { ...evaluationOf(request, false), variants, includeCaseResults: includeCaseResults ?? false };
}

function evaluationOf(
  { cases, continueOnError, defaultK, includeTopResults }: EvaluationRequest,
  showsTop: boolean,
): Evaluation {
  if (cases.length === 0) throw invalidMember('/cases', 'must have a case');
  checkMost(cases, limits.evaluationCasesMax, '/cases');
  if (given(defaultK)) checkWhole(defaultK, '/defaultK', limits.evaluationResultsMax);
  for (const [index, each] of cases.entries()) checkCase(each, `/cases/${index}`);
  return {
    cases,
    continueOnError: continueOnError ?? true,
    defaultK: defaultK ?? null,
    includeTopResults: includeTopResults ?? showsTop,
  };
}

function checkCase({ expected, hardNegatives, k }: CaseRequest, pointer: string): void {
  if (given(k)) checkWhole(k, `${pointer}/k`, limits.evaluationResultsMax);
  if (expected.length === 0) throw invalidMember(`${pointer}/expected`, 'must have an expected match');
  checkMost(expected, limits.evaluationExpectedMax, `${pointer}/expected`);
  checkMost(hardNegatives ?? [], limits.evaluationHardNegativesMax, `${pointer}/hardNegatives`);
  for (const [index, each] of expected.entries()) {
    const place = `${pointer}/expected/${index}`;
    checkMatch(each, place);
    const relevance = each.relevance ?? 1;
    if (!Number.isFinite(relevance) || relevance <= 0)
      throw invalidMember(`${place}/relevance`, 'must be a finite number above 0');
  }
  for (const [index, each] of (hardNegatives ?? []).entries())
    checkMatch(each, `${pointer}/hardNegatives/${index}`);
}

function checkMatch(match: MatchRequest, pointer: string): void {
  const { aliases, sourceIds, sources } = match;
  for (const [name, items] of Object.entries({ aliases, sourceIds, sources }))
    checkMost(items ?? [], limits.evaluationIdentifiersMax, `${pointer}/${name}`);
  const names = idsOf(match).some((id) => id.trim() !== '') || (sources ?? []).some(canDiffer);
  if (!names) throw invalidMember(pointer, 'must have an id, an alias, a source id or a source');
}

/** The members that a variant may replace: the question of the case stays. */
const replaceable = [
  'profile',
  'collections',
  'partitionKeys',
  'filter',
  'embedding',
  'vectorFields',
  'searchMode',
  'lexical',
  'hybrid',
  'rerank',
  'limit',
  'minScore',
  'includeTrace',
] as const satisfies readonly (keyof VariantRequest)[];

/** The retrieval of a case with the members of a variant. */
export function withVariant(request: RetrievalRequest, variant: VariantRequest): RetrievalRequest {
  const own = replaceable.flatMap((name) => (given(variant[name]) ? [[name, variant[name]] as const] : []));
  return { ...request, ...Object.fromEntries(own) };
}
