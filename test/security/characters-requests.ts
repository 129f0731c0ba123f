import { randomUUID } from 'node:crypto';
import type { Json } from '../../contracts/generate/schema.ts';
import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import type { Belongings } from './characters-world.ts';
import { containerOf, OBJECT } from './object-belongings.ts';
import type { Party } from './party.ts';
import { COLLECTION, PARTITION, POLICY, RECORD, recordOf } from './record-belongings.ts';
import { aligned, requestOf } from './requests.ts';
import { ARTIFACT, CHECKPOINT, HANDLER } from './runs.ts';
import type { SchemaSet } from './schema-set.ts';
import { TRACED_OPERATION, traceOf } from './trace-belongings.ts';

/** The request of an operation that names what belongs to a party: the example of the contract, with the names replaced. */

type Names = Readonly<Record<string, string | undefined>>;

/** Names of members and parameters, in every operation. */
function common(party: Party, { runs, outbox, records }: Belongings): Names {
  return {
    tenantId: party.tenantId,
    productId: party.productId,
    workerId: party.workerId,
    runId: runs.ids.held,
    artifactRef: ARTIFACT,
    key: CHECKPOINT,
    eventId: outbox.event.eventId,
    collection: COLLECTION,
    container: containerOf(party),
    pk: PARTITION,
    jobId: records.jobId,
    documentType: 'order',
    id: 'order-1001',
    // The name of a fence.
    name: 'number',
    value: party.mark,
    leaseKey: runs.proof.leaseKey,
    leaseToken: runs.proof.leaseToken,
  };
}

interface Special {
  readonly names?: (party: Party, belongings: Belongings) => Names;
  /** Members that the example lacks or that must differ. */
  readonly body?: (party: Party, belongings: Belongings) => Readonly<Record<string, Json>>;
  /** Further requests of the operation: the members or query that differ from the first. */
  readonly variants?: (party: Party) => readonly Variant[];
}

interface Variant {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, Json>>;
}

const scopeOf = ({ productId, tenantId }: Party) => ({ productId, tenantId });
const ofEvent: Special = { names: (_, { outbox }) => outbox.event };
/** An import with another policy would replace the collection that the next request needs. */
const ofImport: Special = {
  body: (party) => ({
    snapshot: { collection: COLLECTION, policy: { ...POLICY }, records: [recordOf(party, RECORD)] },
  }),
};
const ofIngestion: Special = { names: (_, { records }) => ({ jobId: records.ingestionJobId }) };
const ofEmbedding: Special = { names: (_, { records }) => ({ jobId: records.embeddingJobId }) };
const ofEvaluation: Special = { names: (_, { records }) => ({ jobId: records.evaluationJobId }) };
const ofGraph: Special = { names: (_, { records }) => ({ jobId: records.graphJobId }) };
/** Providers are of the service; only their jobs belong to a party. */
const ofProvider: Special = { names: () => ({ provider: 'local-deterministic-ai' }) };
const ofProviderJob: Special = { names: (_, { providerJobId }) => ({ jobId: providerJobId }) };
const later = '2027-01-01T00:00:00.000Z';

/** Operations whose example is not enough. */
const special: Readonly<Record<string, Special>> = {
  commitCanonicalTransaction: {
    body: (party) => ({
      idempotencyKey: randomUUID(),
      mutations: [
        {
          document: {
            tenantId: party.tenantId,
            documentType: 'order',
            id: 'order-1001',
            schemaVersion: '2',
            data: { mark: party.mark },
          },
        },
      ],
    }),
  },
  importCollection: ofImport,
  startCollectionImportJob: ofImport,
  renewCanonicalOutboxLease: ofEvent,
  acknowledgeCanonicalOutbox: ofEvent,
  releaseCanonicalOutbox: ofEvent,
  replayCanonicalOutbox: { names: (_, { outbox }) => ({ eventId: outbox.deadLetter }) },
  leaseExternalExecutionRun: {
    body: (_, { runs }) => ({ runId: runs.ids.queued }),
    // A poll, which skips the runs of others.
    variants: () => [{ body: { runId: null } }],
  },
  listExecutionRuns: {
    variants: ({ mark }) => [
      { query: { limit: '200' } },
      { query: { status: 'queued' } },
      { query: { status: 'cancelled', handlerId: HANDLER } },
      { query: { 'tag.mark': mark, includeResult: 'true' } },
      { query: { correlationId: mark } },
      { query: { createdAfterUtc: '2026-01-01T00:00:00.000Z' } },
    ],
  },
  queryCanonicalOutbox: { variants: () => [{ body: { state: 'ready' } }, { body: { state: null } }] },
  queryCanonicalDocuments: { variants: () => [{ body: { orderByIndex: null, indexes: null } }] },
  searchRecords: {
    body: () => ({ filter: null, orderBy: null, lexical: { query: 'annual' } }),
    variants: () => [{ body: { lexical: null, vector: { field: 'embedding', value: [0.5, 0.25, 1] } } }],
  },
  startExecutionRun: { body: (party) => ({ scope: scopeOf(party), idempotencyKey: randomUUID() }) },
  // Writes and deletes name another key, so that the next request still finds the object.
  getObject: { names: () => ({ key: OBJECT }) },
  getProvider: ofProvider,
  getProviderDoctor: ofProvider,
  getProviderReadiness: ofProvider,
  getProviderQuota: ofProvider,
  listProviderQualifications: ofProvider,
  listProviderModels: ofProvider,
  qualifyProvider: ofProvider,
  runProviderCapability: ofProvider,
  startProviderRunJob: ofProvider,
  getProviderRunJob: ofProviderJob,
  cancelProviderRunJob: ofProviderJob,
  getEmbeddingJob: ofEmbedding,
  getRetrievalEvaluationJob: ofEvaluation,
  cancelRetrievalEvaluationJob: ofEvaluation,
  cancelEmbeddingJob: ofEmbedding,
  getRagIngestionJob: ofIngestion,
  cancelRagIngestionJob: ofIngestion,
  getGraphJob: ofGraph,
  cancelGraphJob: ofGraph,
  getGraphProviderShape: { names: () => ({ providerId: 'svc-collection' }) },
  getTrace: { names: (party) => ({ id: traceOf(party) }) },
  listTraces: { variants: () => [{ query: { operation: TRACED_OPERATION, limit: '5000' } }] },
  summarizeTraces: { variants: () => [{ query: { operation: TRACED_OPERATION } }] },
  exportTraces: { body: () => ({ operation: null, limit: null, failOnUnsafeContent: false }) },
  // The next request finds the trace again.
  pruneTraces: { variants: () => [{ body: { olderThan: null, keepLatest: 0, dryRun: true } }] },
  waitExternalExecutionLease: { body: () => ({ timeoutAtUtc: later }) },
  putExternalExecutionLeaseCheckpoint: { variants: ({ mark }) => [{ body: { event: { message: mark } } }] },
  startExternalExecutionLeaseChild: {
    body: ({ mark }) => ({ writeId: randomUUID(), child: { handlerId: HANDLER, payload: { mark } } }),
    variants: ({ mark }) => [
      { body: { writeId: 'b', child: { handlerId: HANDLER, cancelWithParent: true, tags: { mark } } } },
      {
        body: {
          writeId: 'c',
          child: { handlerId: HANDLER, checkpoints: [{ key: mark, content: { mark } }] },
        },
      },
    ],
  },
};

/** Members of a body that carry the names of a party; free content keeps its members. */
const NAMED = new Set(['tenantId', 'productId', 'workerId', 'leaseKey', 'leaseToken', 'documentType', 'id']);

/**
 * The requests of a route that name what belongs to the party: the first, then its variants.
 * Throws for a path parameter without a known value: an operation to come says here what it needs.
 */
export function requestsNaming(
  { set, entry, route }: { set: SchemaSet; entry: OperationEntry; route: OperationRoute },
  party: Party,
  belongings: Belongings,
): readonly InjectedRequest[] {
  const rule = special[entry.id];
  const names = { ...common(party, belongings), ...rule?.names?.(party, belongings) };
  const params = Object.fromEntries(
    route.path.map(({ name }) => {
      const value = names[name];
      if (value === undefined)
        throw new Error(
          `${entry.id}: characters-requests.ts must say which ${name} of a party a request names`,
        );
      return [name, value];
    }),
  );
  const query = route.query.flatMap(({ name }) => {
    const value = ['productId', 'tenantId'].includes(name) ? names[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  const body = bodyOf(set, entry, names);
  const more = rule?.body?.(party, belongings);
  return [{}, ...(rule?.variants?.(party) ?? [])].map((variant: Variant) => {
    const whole =
      body === undefined || route.bodyFromParameters
        ? undefined
        : { ...(body as Record<string, Json>), ...more, ...variant.body };
    const draft = { params, query: [...query, ...Object.entries(variant.query ?? {})], headers: [] };
    return requestOf({ entry, route }, { ...draft, body: aligned(whole, params) });
  });
}

function bodyOf(set: SchemaSet, { id, requestSchema }: OperationEntry, names: Names): Json | undefined {
  if (requestSchema === null) return undefined;
  const example = set.model(requestSchema).examples?.[0];
  if (example === undefined) throw new Error(`${id}: its request has no example`);
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return example;
  return Object.fromEntries(
    Object.entries(example)
      .filter(([name]) => name !== 'continuationToken')
      .map(([name, value]) => [name, NAMED.has(name) ? (names[name] ?? value) : value]),
  ) as Json;
}
