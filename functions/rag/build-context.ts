import type { ReadCall } from '../collections/read-call.ts';
import type { JsonObject } from '../kernel/canonical-json.ts';
import { inTurns } from '../kernel/turns.ts';
import { type RetrievalParts, scoredCandidatesMax } from '../retrieval/parts.ts';
import {
  type RetrievalAnswer,
  type RetrieveCall,
  type RetrievedRecord,
  retrieve,
} from '../retrieval/retrieve.ts';
import type { RetrievalRequest } from '../retrieval/rules/asked.ts';
import { type Retrieval, readRetrieval } from '../retrieval/rules/request.ts';
import { expandGraph } from './expand-graph.ts';
import { type Citations, citationsOf } from './rules/citations.ts';
import { type ContextChunks, contextChunks } from './rules/context-chunks.ts';
import type { ContextMatch } from './rules/context-match.ts';
import { type ContextOptions, type ContextRequest, readContextRequest } from './rules/context-request.ts';
import { CONTEXT_TEXT_FORMAT, type ContextText, contextText } from './rules/context-text.ts';
import { type ExpansionOptions, type ExpansionRequest, readExpansion } from './rules/expansion-request.ts';
import type { GraphExpansion } from './rules/graph-expansion.ts';

/** A question whose members have the types that its schema names. */
export interface ContextQuestion extends ContextRequest {
  readonly retrieval: RetrievalRequest;
  readonly graphExpansion?: ExpansionRequest | null;
  readonly includeTrace?: boolean | null;
}

interface FoundMatch extends ContextMatch {
  readonly found: RetrievedRecord;
}

export interface BuiltContext {
  readonly retrieval: Retrieval;
  readonly options: ContextOptions;
  readonly answer: RetrievalAnswer;
  readonly chosen: ContextChunks<FoundMatch>;
  readonly cited: Citations;
  /** `null` if the request asks for none. */
  readonly text: ContextText | null;
  readonly graph: GraphExpansion | null;
  /** `null` if the request asks for none. */
  readonly trace: JsonObject | null;
}

export interface ContextCall extends ReadCall, Pick<RetrieveCall, 'throwsPassing'> {
  /** The JSON Pointer of the question in the request. */
  readonly pointer?: string;
  /** The id of the request, which the traces of rerankers name. */
  readonly correlationId?: string;
}

/**
 * Builds the context of a question from the texts that a retrieval finds, within the budgets of the request. The same question over
 * the same records has the same text and hashes. Throws the refusals of the request and of the retrieval.
 */
export async function buildContext(
  parts: RetrievalParts,
  space: string,
  question: ContextQuestion,
  call: ContextCall = {},
): Promise<BuiltContext> {
  const { pointer = '' } = call;
  const asked = readRetrieval(question.retrieval, scoredCandidatesMax(parts), `${pointer}/retrieval`);
  const options = readContextRequest(question, pointer);
  const expansion = readExpansion(question.graphExpansion, `${pointer}/graphExpansion`);
  const isTraced = question.includeTrace ?? false;
  const retrieval = { ...asked, includeTrace: asked.includeTrace || isTraced };
  const answer = await retrieve(parts, space, retrieval, call);
  const matches = answer.results.map((found) => {
    const { rank, score, record } = found;
    return { rank, score, collection: record.collection, record: record.value, found };
  });
  const turns = parts.records.world.turns.of(space);
  const chosen = await inTurns(contextChunks(matches, options), turns);
  const cited = citationsOf(chosen.chunks, options);
  const graph = await expanded(parts, space, { expansion, chosen }, call);
  const text = options.includeContextText
    ? await inTurns(contextText(chosen.chunks, cited.citations, graph?.text ?? null), turns)
    : null;
  const built = { retrieval, options, answer, chosen, cited, text, graph };
  return { ...built, trace: isTraced ? traceOf(built) : null };
}

async function expanded(
  { records }: RetrievalParts,
  space: string,
  own: { readonly expansion: ExpansionOptions | null; readonly chosen: ContextChunks<FoundMatch> },
  call: ContextCall,
): Promise<GraphExpansion | null> {
  if (own.expansion === null) return null;
  const values = own.chosen.chunks.map(({ match }) => match.record);
  return expandGraph(records, space, own.expansion, values, call);
}

function traceOf({ retrieval, options, answer, chosen, cited, text, graph }: Omit<BuiltContext, 'trace'>) {
  const { assembly } = options;
  const groupStats = chosen.groups.map((group) => ({ ...group }));
  return {
    retrieval: answer.trace,
    chunkCount: chosen.chunks.length,
    citationCount: cited.citations.length,
    omittedCitationCount: cited.omitted,
    effectiveSearchMode: retrieval.mode,
    includeContextText: options.includeContextText,
    contextTextFormat: text === null ? null : CONTEXT_TEXT_FORMAT,
    contextTextHash: text?.hash ?? null,
    totalChars: chosen.totalChars,
    maxChars: options.maxChars,
    maxCharsPerChunk: options.maxCharsPerChunk,
    skippedEmptyText: chosen.skippedEmptyText,
    skippedForGroupBudget: chosen.skippedForGroupBudget,
    droppedForBudget: chosen.droppedForBudget,
    budgetExhausted: chosen.budgetExhausted,
    groupBy: assembly.groupBy ?? null,
    groupByPath: assembly.groupByPath ?? null,
    maxChunksPerGroup: assembly.defaultMaxChunksPerGroup ?? null,
    maxCharsPerGroup: assembly.defaultMaxCharsPerGroup ?? null,
    groupCount: groupStats.length,
    unsatisfiedRequiredGroups: chosen.unsatisfiedRequiredGroups,
    groupStats,
    graphExpansion:
      graph === null ? null : { ...graph.summary, provenanceCount: graph.provenance.items.length },
    contextAssembly: assembly.groupBy === null || assembly.groupBy === undefined ? 'ranked' : 'grouped',
  };
}
