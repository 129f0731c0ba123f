import type { RecordParts } from '../collections/parts.ts';
import type { ReadCall } from '../collections/read-call.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import { findSeeds, type Seeds } from '../graph/rules/seeds.ts';
import { traverseGraph } from '../graph/traverse-graph.ts';
import { invalidMember, refusalWords, ServiceError } from '../kernel/errors.ts';
import type { ExpansionOptions } from './rules/expansion-request.ts';
import { type GraphExpansion, graphExpansion, type WalkOutcome } from './rules/graph-expansion.ts';

const REASON_LENGTH_MAX = 4_096;

/** Transient refusals, which do not depend on the graph: the same call may succeed a moment later. */
const PASSING: ReadonlySet<string> = new Set(['unavailable', 'rate_limited']);

/**
 * Walks the graph near the records of a context. A refusal of the walk becomes a status; with `fallbackOnFailure` false it refuses
 * the call with `validation_failed` and its detail. A transient refusal is thrown.
 */
export async function expandGraph(
  parts: RecordParts,
  space: string,
  options: ExpansionOptions,
  records: readonly RecordValue[],
  call: ReadCall & { readonly pointer?: string },
): Promise<GraphExpansion> {
  const { seedNodeIds, seedJsonPointers, maxSeedNodes } = options;
  const named = options.enabled ? records : [];
  const seeds = findSeeds(options.enabled ? seedNodeIds : [], named, seedJsonPointers, maxSeedNodes);
  const outcome = await walk(parts, space, { options, seeds }, call);
  if (outcome.status !== 'succeeded' && outcome.reason !== null && !options.fallbackOnFailure)
    throw invalidMember(`${call.pointer ?? ''}/graphExpansion`, outcome.reason);
  const ids = records.map(({ id }) => id);
  return graphExpansion(options, seeds, outcome, ids);
}

async function walk(
  parts: RecordParts,
  space: string,
  { options, seeds }: { readonly options: ExpansionOptions; readonly seeds: Seeds },
  call: ReadCall,
): Promise<WalkOutcome> {
  if (!options.enabled) return { status: 'not_requested', reason: null };
  if (seeds.nodeIds.length === 0) return { status: 'no_seeds', reason: null };
  const { graphId, namespace, tenantId, partitionKey, profile, maxRecords, allowPartialGraph } = options;
  const chosen = { graphId, namespace, tenantId, partitionKey };
  const request = { ...chosen, startNodeIds: seeds.nodeIds, profile, maxRecords, allowPartialGraph };
  try {
    const walked = await traverseGraph(parts, space, options.collection, request, call);
    return { status: 'succeeded', walked };
  } catch (error) {
    if (!(error instanceof ServiceError) || PASSING.has(error.code)) throw error;
    const reason = refusalWords(error).slice(0, REASON_LENGTH_MAX).toWellFormed();
    return { status: statusOf(error), reason };
  }
}

function statusOf({ code }: ServiceError): 'graph_not_found' | 'budget_truncated' | 'failed' {
  if (code === 'collection_not_found') return 'graph_not_found';
  return code === 'limit_exceeded' || code === 'query_budget_exceeded' ? 'budget_truncated' : 'failed';
}
