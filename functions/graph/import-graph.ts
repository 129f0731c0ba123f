import { type ImportJob, importCollection } from '../collections/import-collection.ts';
import { readLedger } from '../collections/load-ledger.ts';
import type { RecordParts } from '../collections/parts.ts';
import { collectionMissing, readCollection } from '../collections/read-policy.ts';
import type { BatchResult } from '../collections/rules/batch.ts';
import type { CollectionPolicy } from '../collections/rules/policy.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { objectOrEmpty } from '../kernel/json-kinds.ts';
import { parseJson } from '../kernel/json-text.ts';
import type { Turns } from '../kernel/turns.ts';
import type { GraphEnvelope } from './rules/elements.ts';
import {
  decidePolicy,
  graphPolicy,
  type ImportOptions,
  missingIndexes,
  type PolicyStatus,
} from './rules/graph-policy.ts';
import { policyFault } from './rules/preflight.ts';
import { recordCountOf } from './rules/read-envelope.ts';
import { partitionOf } from './rules/read-scope.ts';
import { graphRecords, inIdOrder } from './rules/record-map.ts';

/** @testonly */
export interface GraphImport extends ImportOptions {
  readonly envelope: GraphEnvelope;
  readonly continueOnError: boolean;
}

/** The parts of an import job that depend on its run. */
export interface GraphImportJob extends Omit<ImportJob, 'text' | 'contentHash'> {
  /** The same id at each call for the run. */
  readonly request: () => Promise<GraphImport>;
}

export interface GraphImportResult {
  readonly collection: string;
  readonly graphId: string;
  readonly partitionKey: string;
  readonly policyStatus: PolicyStatus;
  readonly nodeCount: number;
  readonly edgeCount: number;
  readonly assertionCount: number;
  readonly reviewCount: number;
  readonly projectionCount: number;
  readonly recordCount: number;
  readonly records: BatchResult;
}

/**
 * Merges a graph into a collection, a chunk in one transaction with its ledger. Another call for the same run continues where the
 * first one ended. With `replaceExisting` readers see the old collection until the whole graph is loaded.
 */
export async function importGraph(parts: RecordParts, job: GraphImportJob): Promise<GraphImportResult> {
  const request = await job.request();
  const { envelope } = request;
  const { policyStatus, records } = await load(parts, job, request);
  return {
    collection: job.collection,
    graphId: envelope.scope.graphId,
    partitionKey: partitionOf(envelope.scope),
    policyStatus,
    nodeCount: envelope.nodes.length,
    edgeCount: envelope.edges.length,
    assertionCount: envelope.assertions.length,
    reviewCount: envelope.reviews.length,
    projectionCount: envelope.projections.length,
    recordCount: recordCountOf(envelope),
    records,
  };
}

interface Loaded {
  readonly policyStatus: PolicyStatus;
  readonly records: BatchResult;
}

async function load(parts: RecordParts, job: GraphImportJob, request: GraphImport): Promise<Loaded> {
  const { collection, runId, space } = job;
  const ledger = await readLedger(await parts.store(), space, runId);
  const existing = await readCollection(parts, space, collection);
  // A started run keeps its first decision, because its own writes have changed the collection since.
  const replaces =
    ledger === null ? isReplacement(collection, existing, request) : isLoadingApart(ledger.facts);
  const policy = replaces ? null : (existing?.policy ?? null);
  const text = () =>
    snapshotText(policy ?? graphPolicy(collection), request, replaces, parts.world.turns.of(space));
  // The answer of an import has no content hash, and computing it would read every record.
  const { policyStatus, records } = await importCollection(parts, { ...job, text, contentHash: '' });
  return { policyStatus: policyStatus === 'existing_equivalent' ? statusOf(policy) : policyStatus, records };
}

/** Throws if the graph must not be imported into the collection. */
function isReplacement(name: string, existing: StoredCollection | null, request: GraphImport): boolean {
  const decision = decidePolicy(existing?.policy ?? null, request);
  if ('status' in decision) return decision.status === 'replaced';
  if (decision.fault === 'collection_missing') throw collectionMissing(name);
  throw new ServiceError('validation_failed', policyFault(decision.fault, name, existing?.policy ?? null));
}

/** Whether the records are loaded into a new collection that replaces the old one at the end. */
function isLoadingApart(facts: string): boolean {
  const { incarnation = null } = objectOrEmpty(parseJson(facts) as Json);
  return incarnation !== null;
}

function statusOf(policy: CollectionPolicy | null): PolicyStatus {
  const isOfGraphs = policy === null || missingIndexes(policy).length === 0;
  return isOfGraphs ? 'existing_graph_policy' : 'existing_non_graph_policy_allowed';
}

/** The graph as a snapshot of its collection. */
async function snapshotText(
  policy: CollectionPolicy,
  { envelope, continueOnError }: GraphImport,
  replaceExisting: boolean,
  turns: Turns,
): Promise<string> {
  const texts: string[] = [];
  for (const record of graphRecords(inIdOrder(envelope))) {
    texts.push(JSON.stringify(record));
    if (turns.due()) await turns.next();
  }
  const head = JSON.stringify({ collection: policy.name, policy });
  const snapshot = `${head.slice(0, -1)},"records":[${texts.join(',')}]}`;
  return `{"snapshot":${snapshot},"replaceExisting":${replaceExisting},"continueOnError":${continueOnError}}`;
}
