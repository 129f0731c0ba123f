import type { ProviderAccess } from '../../../identity/provider-access.ts';
import type { RecordCaller } from '../../../identity/record-access.ts';
import { LOCAL_RERANKER } from '../../../retrieval/reranker.ts';
import type { RetrievalRequest } from '../../../retrieval/rules/asked.ts';
import type { ComparisonRequest, EvaluationRequest } from '../../../retrieval/rules/evaluation/request.ts';

/** The right to run providers, which a rerank needs. */
export type RerankAccess = Pick<ProviderAccess, 'judgeRecordJob'>;

type Asking = Pick<RetrievalRequest, 'rerank'> & { readonly collections?: readonly string[] | null };

/**
 * Throws `permission_denied` if a retrieval reranks with a provider and the caller may not run providers in the space. The provider is
 * not looked up, so the refusal does not reveal which providers exist.
 */
export function judgeRerankers(
  access: RerankAccess,
  { caller, space }: { readonly caller: RecordCaller; readonly space: string },
  retrievals: readonly Asking[],
): void {
  if (retrievals.some(asksProvider)) access.judgeRecordJob({ caller, space, operation: 'run' });
}

/** All retrievals that an evaluation or a comparison may make. */
export function retrievalsOf(body: EvaluationRequest | ComparisonRequest): readonly Asking[] {
  const variants = 'variants' in body ? body.variants : [];
  return [...body.cases.map(({ request }) => request), ...variants];
}

function asksProvider({ rerank }: Asking): boolean {
  if (rerank?.enabled !== true) return false;
  const provider = (rerank.provider ?? '').trim();
  return provider !== '' && provider !== LOCAL_RERANKER;
}
