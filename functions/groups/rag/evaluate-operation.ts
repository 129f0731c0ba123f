import type { GroupHandlers } from '../../http/handler.ts';
import { refusalWords } from '../../kernel/errors.ts';
import { checkJsonBytes } from '../../kernel/json-bytes.ts';
import { refusedBy } from '../../providers/refusal.ts';
import { evaluateContexts, type TriedContext } from '../../rag/evaluate-context.ts';
import { queryIdOf } from '../../rag/rules/evaluation.ts';
import {
  type CaseOutcome,
  type ContextCaseAnswer,
  caseJson,
  evaluationJson,
} from '../../rag/rules/evaluation-json.ts';
import { judgeRerankers } from '../retrieval/library/judge-rerankers.ts';
import { answered, contextText } from './context-answer.ts';
import type { RagLayers } from './jobs/job-view.ts';

const ERROR_LENGTH_MAX = 4_096;
const CASE_METADATA_BYTES_MAX = 65_536;
const PROFILE_NAME_LENGTH_MAX = 2_048;

export function evaluateRagContext({
  retrieval,
  access,
  rerankAccess,
}: Pick<RagLayers, 'retrieval' | 'access' | 'rerankAccess'>): GroupHandlers<'rag'>['evaluateRagContext'] {
  return async ({ body }, { caller, signal, grow, correlationId }) => {
    const space = access.spaceOf(caller, 'read');
    const retrievals = body.cases.map(({ request }) => request.retrieval);
    judgeRerankers(rerankAccess, { caller, space }, retrievals);
    for (const [index, { metadata = null }] of body.cases.entries())
      checkJsonBytes(metadata, CASE_METADATA_BYTES_MAX, `/cases/${index}/metadata`);
    const call = { signal, correlationId, ...(grow === undefined ? {} : { grow }) };
    const continueOnError = body.continueOnError ?? true;
    const turns = retrieval.records.world.turns.of(space, signal);
    const cases: ContextCaseAnswer[] = [];
    const texts: string[] = [];
    try {
      const tried = evaluateContexts(retrieval, space, body.cases, { ...call, continueOnError });
      for await (const each of tried) {
        const { outcome } = each;
        const isShown = body.includeContext === true && 'built' in outcome;
        const answer = caseOf(each, isShown ? await contextText(turns, outcome.built) : null);
        // Only the text of the case stays in memory, not the context.
        const text = caseJson(answer);
        grow?.(text.length);
        texts.push(text);
        cases.push(withoutContext(answer));
      }
    } catch (error) {
      throw refusedBy(error);
    }
    return { status: 200, body: answered(retrieval, evaluationJson(body.cases.length, cases, texts)) };
  };
}

function withoutContext(answer: ContextCaseAnswer): ContextCaseAnswer {
  const { outcome } = answer;
  return 'error' in outcome ? answer : { ...answer, outcome: { ...outcome, context: null } };
}

function caseOf(
  { index, asked, durationMs, outcome }: TriedContext,
  context: string | null,
): ContextCaseAnswer {
  const { name = null, request, expectedGraph = null, metadata = null } = asked;
  const queryId = queryIdOf(name, metadata, index);
  const profile = request.graphExpansion?.profile;
  const mode =
    'built' in outcome ? outcome.built.retrieval.mode : (request.retrieval.searchMode ?? 'lexical');
  const named = request.retrieval.profile ?? profile?.id ?? mode;
  const profileName = named.slice(0, PROFILE_NAME_LENGTH_MAX).toWellFormed();
  const common = { index, name, durationMs, queryId, profileName, expected: expectedGraph };
  return { ...common, outcome: outcomeOf(outcome, context) };
}

function outcomeOf(outcome: TriedContext['outcome'], context: string | null): CaseOutcome {
  if ('refused' in outcome)
    return { error: refusalWords(outcome.refused).slice(0, ERROR_LENGTH_MAX).toWellFormed() };
  const { built, verdict } = outcome;
  const { chosen, graph } = built;
  const found = chosen.chunks.map(({ match }) => match.found.record);
  return {
    verdict,
    retrievedRecordIds: chosen.chunks.map(({ match }) => match.record.id),
    nodeIds: graph?.found.nodes.map(({ id }) => id) ?? [],
    edgeIds: graph?.found.edges.map(({ id }) => id) ?? [],
    lexicalCount: found.filter(({ fused }) => fused.lexicalRank !== null).length,
    vectorCount: found.filter(({ fused }) => fused.vectorRank !== null).length,
    graphStatus: graph?.status ?? 'not_requested',
    graphTextPresent: (graph?.text ?? '') !== '',
    graphTextTruncated: graph?.summary.contextTextTruncated ?? false,
    budgetTruncated: graph?.sourceTruncated ?? false,
    limits: graph?.summary.limitsHit ?? [],
    contribution: graph?.summary ?? null,
    context,
  };
}
