import { limits } from '../../../contracts/generated/limits.ts';
import type { CollectionPolicy } from '../../collections/rules/policy.ts';
import type { ProblemDetail } from '../../kernel/errors.ts';
import type { GraphEnvelope } from './elements.ts';
import { decidePolicy, type ImportOptions, missingIndexes, type PolicyFault } from './graph-policy.ts';
import { GRAPH_RECORDS_MAX } from './limits.ts';
import { type EnvelopeRequest, inspectEnvelope, recordCountOf } from './read-envelope.ts';
import { partitionOf } from './read-scope.ts';
import { graphRecords, inIdOrder } from './record-map.ts';

/** Computes the effects of an import without writing, in steps. The answer adds the collection and the time. */
export function* preflightImport(
  given: EnvelopeRequest,
  options: ImportOptions,
  collection: string,
  existing: CollectionPolicy | null,
) {
  const { envelope, faults } = yield* inspectEnvelope(given, '/envelope');
  const { scope, nodes, edges, assertions, reviews, projections } = envelope;
  const decision = decidePolicy(existing, options);
  const status = 'status' in decision ? decision.status : null;
  const elementFaults = faults.length > 0 ? faults.map(faultWords) : yield* largeRecords(envelope);
  const errors = [
    ...('fault' in decision ? [policyFault(decision.fault, collection, existing)] : []),
    ...elementFaults,
  ];
  const warnings = [
    ...(status === 'replaced' ? [`The import replaces collection ${collection} with all its records.`] : []),
    ...(status === 'existing_non_graph_policy_allowed'
      ? [`Collection ${collection} lacks indexes of graphs: traversals read the whole graph.`]
      : []),
  ];
  return {
    collection,
    valid: errors.length === 0,
    readyToImport: errors.length === 0,
    graphId: scope.graphId,
    namespace: scope.namespace,
    tenantId: scope.tenantId,
    partitionKey: partitionOf(scope),
    collectionExists: existing !== null,
    collectionPolicyStatus: 'status' in decision ? decision.status : decision.fault,
    wouldCreateCollection: status === 'created',
    wouldReplaceCollection: status === 'replaced',
    wouldAllowNonGraphPolicy: status === 'existing_non_graph_policy_allowed',
    ...options,
    nodeCount: nodes.length,
    edgeCount: edges.length,
    assertionCount: assertions.length,
    reviewCount: reviews.length,
    projectionCount: projections.length,
    recordCount: recordCountOf(envelope),
    maxRecords: GRAPH_RECORDS_MAX,
    warningCount: warnings.length,
    warnings,
    errorCount: errors.length,
    errors,
  };
}

const LARGE_MAX = 100;
const ID_SHOWN = 200;

/** Elements whose records would be too large: a record has its element, words for searches, its sources and the scope. */
function* largeRecords(envelope: GraphEnvelope): Generator<void, readonly string[]> {
  const found: string[] = [];
  for (const record of graphRecords(inIdOrder(envelope))) {
    yield;
    if (Buffer.byteLength(JSON.stringify(record)) <= limits.recordBytesMax) continue;
    const shown = record.id.slice(0, ID_SHOWN).toWellFormed();
    found.push(`The record ${shown} would have more than ${limits.recordBytesMax} bytes.`);
    if (found.length >= LARGE_MAX) break;
  }
  return found;
}

/** Why an import must not write into the collection. */
export function policyFault(
  fault: PolicyFault,
  collection: string,
  existing: CollectionPolicy | null,
): string {
  if (fault === 'collection_missing') return `Collection '${collection}' does not exist.`;
  const missing = existing === null ? [] : missingIndexes(existing);
  return `Collection '${collection}' lacks indexes of graphs: ${missing.join(', ')}.`;
}

function faultWords({ pointer, detail }: ProblemDetail): string {
  return `${pointer} ${detail}`;
}
