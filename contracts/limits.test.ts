import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSource } from './generate/source.ts';

const source = readSource(process.cwd());
const code = globSync('functions/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');
const used = (name: string) => new RegExp(`\\blimits\\.${name}\\b`).test(code);

/**
 * Limits that a schema enforces, as model, member and keyword; code may enforce them too. A keyword after a slash
 * belongs to the names or the values of a map.
 */
const keptBySchema: Readonly<Record<string, string>> = {
  recordBytesMax: 'SvcRecordInput x-svc-max-bytes',
  vectorDimensionsMax: 'VectorSearchOptions value maxItems',
  searchVectorTopDefault: 'VectorSearchOptions top default',
  searchLexicalTopDefault: 'LexicalSearchOptions top default',
  searchScanLimitDefault: 'LexicalSearchOptions scanLimit default',
  searchQueryLengthMax: 'LexicalSearchOptions query maxLength',
  searchFieldsMax: 'LexicalSearchOptions fields maxItems',
  searchPhraseGroupsMax: 'LexicalSearchOptions requiredPhraseGroups maxItems',
  searchPhrasesPerGroupMax: 'LexicalSearchOptions requiredPhraseGroups items/maxItems',
  searchPhraseLengthMax: 'LexicalSearchOptions requiredPhraseGroups items/items/maxLength',
  recordsPerBatchMax: 'RecordBatchUpsertRequest records maxItems',
  recordsPerExportMax: 'CollectionExportRequest maxRecords maximum',
  identifierLengthMin: 'IdentifierInput minLength',
  mutationsPerCommitMax: 'CanonicalTransactionRequest mutations maxItems',
  fencesPerCommitMax: 'CanonicalTransactionRequest fences maxItems',
  outboxEventsPerCommitMax: 'CanonicalTransactionRequest outbox maxItems',
  outboxHeadersMax: 'CanonicalOutboxWrite headers maxProperties',
  maxDeliveryAttemptsMax: 'CanonicalOutboxWrite maxDeliveryAttempts maximum',
  queryLimitMax: 'CanonicalOutboxQuery limit maximum',
  outboxLeaseItemsMax: 'CanonicalOutboxLeaseRequest maxItems maximum',
  outboxLeaseSecondsMax: 'CanonicalOutboxLeaseRequest leaseSeconds maximum',
  outboxRetryAfterSecondsMax: 'CanonicalOutboxNackRequest retryAfterSeconds maximum',
  outboxErrorLengthMax: 'CanonicalOutboxNackRequest error maxLength',
  executionIdentifierLengthMax: 'ExecutionRun correlationId maxLength',
  executionDisplayLengthMax: 'ExecutionRunUpdate currentStep maxLength',
  executionDescriptionLengthMax: 'ExecutionHandlerDescriptor description maxLength',
  executionLeaseTokenLengthMax: 'ExecutionExternalWorkerHeartbeatRequest leaseToken maxLength',
  executionPayloadBytesMax: 'ExecutionRunRequest payload x-svc-max-bytes',
  executionResultBytesMax: 'ExecutionRunResult result x-svc-max-bytes',
  executionStatusDetailsBytesMax: 'ExecutionRunResult statusDetails x-svc-max-bytes',
  executionErrorLengthMax: 'ExecutionRunResult error maxLength',
  executionTraceMessageLengthMax: 'ExecutionExternalWorkerEventRequest message maxLength',
  executionTraceDetailsBytesMax: 'ExecutionExternalWorkerEventRequest details x-svc-max-bytes',
  executionArtifactUriLengthMax: 'ExecutionArtifactWrite uri maxLength',
  executionArtifactBytesMax: 'ExecutionArtifactWrite content x-svc-max-bytes',
  executionArtifactsPerRunMax: 'ExecutionArtifactList maxItems',
  executionCheckpointBytesMax: 'ExecutionCheckpointWrite content x-svc-max-bytes',
  executionCheckpointEventDetailsBytesMax: 'ExecutionCheckpointEventWrite details x-svc-max-bytes',
  executionLeaseCheckpointKeysMax: 'ExecutionExternalWorkerLeaseRequest checkpointKeys maxItems',
  executionWaitNamesMax: 'ExecutionExternalWorkerWaitRequest names maxItems',
  executionTagsMax: 'ExecutionRunRequest tags maxProperties',
  executionTagKeyLengthMax: 'ExecutionRunRequest tags propertyNames/maxLength',
  executionTagValueLengthMax: 'ExecutionRunRequest tags additionalProperties/maxLength',
  executionHandlersPerLeaseMax: 'ExecutionExternalWorkerLeaseRequest handlerIds maxItems',
  executionAttemptsMax: 'ExecutionRetryPolicyInput maxAttempts maximum',
  executionRetryDelaySecondsMax: 'ExecutionRetryPolicyInput maxDelaySeconds maximum',
  executionLeaseSecondsMax: 'ExecutionExternalWorkerLeaseRequest ttlSeconds maximum',
  executionLeaseSecondsDefault: 'ExecutionExternalWorkerLeaseRequest ttlSeconds default',
  executionLeaseWaitSecondsMax: 'ExecutionExternalWorkerLeaseRequest waitSeconds maximum',
  executionListLimitMax: 'ExecutionRunList maxItems',
  executionHistoryLimitMax: 'ExecutionTraceEventList maxItems',
  executionCancelGraceSecondsMax: 'ExecutionRunRequest cancelGraceSeconds maximum',
  executionPruneRunsMax: 'ExecutionMaintenancePruneResult runIds maxItems',
  ragEvaluationCasesMax: 'RagContextEvaluationRequest cases maxItems',
  ragExpectedItemsMax: 'RagContextExpectedGraph nodeIds maxItems',
  executionReconcileRunsMax: 'ExecutionMaintenanceDispatchReconcileRequest limit maximum',
};

/** Limits that a parameter of the catalog enforces: operation, parameter and keyword. */
const keptByParameter: Readonly<Record<string, string>> = {
  executionRunWaitSecondsMax: 'getExecutionRun waitSeconds maximum',
  executionListLimitDefault: 'listExecutionRuns limit default',
  traceListLimitMax: 'listTraces limit maximum',
  traceListLimitDefault: 'listTraces limit default',
  recordJobListLimitMax: 'listRecordImportJobs limit maximum',
  recordJobListLimitDefault: 'listRecordImportJobs limit default',
  embeddingJobListLimitMax: 'listEmbeddingJobs limit maximum',
  embeddingJobListLimitDefault: 'listEmbeddingJobs limit default',
  graphJobListLimitMax: 'listGraphJobs limit maximum',
  graphJobListLimitDefault: 'listGraphJobs limit default',
  ragJobListLimitMax: 'listRagIngestionJobs limit maximum',
  ragJobListLimitDefault: 'listRagIngestionJobs limit default',
  retrievalJobListLimitMax: 'listRetrievalEvaluationJobs limit maximum',
  retrievalJobListLimitDefault: 'listRetrievalEvaluationJobs limit default',
  providerJobListLimitMax: 'listProviderRunJobs limit maximum',
  providerJobListLimitDefault: 'listProviderRunJobs limit default',
  anomaliesMax: 'inspectCollection anomalyLimit maximum',
  anomaliesDefault: 'inspectCollection anomalyLimit default',
  executionHistoryLimitDefault: 'getExecutionRunHistory limit default',
};

/** Operations with their own body limit; every other operation has `jsonBodyBytesMax`. */
const bodyLimits: Readonly<Record<string, readonly string[]>> = {
  commitBodyBytesMax: ['commitCanonicalTransaction'],
  migrationBodyBytesMax: ['applyCanonicalMigrations'],
  restoreBodyBytesMax: ['restoreCanonicalTenant'],
  executionRunBodyBytesMax: [
    'startExecutionRun',
    'raiseExecutionEvent',
    'reportExternalExecutionLease',
    'completeExternalExecutionLease',
    'startExternalExecutionLeaseChild',
    'waitExternalExecutionLease',
    'putExternalExecutionLeaseCheckpoint',
  ],
  collectionPolicyBodyBytesMax: ['createCollection'],
  recordQueryBodyBytesMax: [
    'queryRecords',
    'searchRecords',
    'exportCollectionBounded',
    'traverseGraph',
    'doctorGraphCollection',
    'startGraphDoctorJob',
    'buildRagContext',
    'buildRagPrompt',
    'evaluateRagContext',
    'retrieve',
    'evaluateRetrieval',
    'compareRetrievalEvaluations',
    'startRetrievalEvaluationComparisonJob',
    'startRetrievalEvaluationJob',
  ],
  recordBodyBytesMax: ['upsertRecord'],
  recordImportBodyBytesMax: [
    'importCollection',
    'startCollectionImportJob',
    'upsertRecords',
    'startRecordBatchUpsertJob',
    'importGraphEnvelope',
    'startGraphImportJob',
    'preflightGraphImport',
  ],
  executionEventBodyBytesMax: ['recordExternalExecutionLeaseEvent'],
  executionArtifactBodyBytesMax: ['putExternalExecutionLeaseArtifact'],
  objectBytesMax: ['putObject'],
  recordArtifactBodyBytesMax: ['ingestRecordArtifact'],
  embeddingBodyBytesMax: ['generateEmbeddings', 'startEmbeddingJob'],
  ragIngestBodyBytesMax: [
    'ingestRagText',
    'ingestRagTextBatch',
    'startRagIngestionTextJob',
    'startRagIngestionBatchJob',
  ],
  providerRunBodyBytesMax: ['runProviderCapability', 'startProviderRunJob'],
};

/** Limits that the catalog enforces: the body limit of these operations only. */
const keptByCatalog: Readonly<Record<string, (id: string) => boolean>> = {
  ...Object.fromEntries(
    Object.entries(bodyLimits).map(([name, ids]) => [name, (id: string) => ids.includes(id)]),
  ),
  jsonBodyBytesMax: (id) => !Object.values(bodyLimits).flat().includes(id),
};

/** Limits that the catalog enforces on the JSON of these operations. */
const keptByJson: Readonly<
  Record<string, readonly [id: string, bound: 'depthMax' | 'membersMax' | 'containersMax']>
> = {
  restoreJsonDepthMax: ['restoreCanonicalTenant', 'depthMax'],
  restoreJsonMembersMax: ['restoreCanonicalTenant', 'membersMax'],
  restoreJsonContainersMax: ['restoreCanonicalTenant', 'containersMax'],
  recordImportJsonDepthMax: ['importCollection', 'depthMax'],
  recordImportJsonMembersMax: ['startCollectionImportJob', 'membersMax'],
  recordImportJsonContainersMax: ['upsertRecords', 'containersMax'],
};

function under(schema: object | undefined, keyword: string): unknown {
  return keyword
    .split('/')
    .reduce<unknown>((at, word) => (at as Readonly<Record<string, unknown>> | undefined)?.[word], schema);
}

describe('every published limit is enforced', () => {
  it.each(source.limits)('$name', ({ name, value }) => {
    const place = keptBySchema[name];
    const operation = keptByCatalog[name];
    const json = keptByJson[name];
    const parameter = keptByParameter[name];
    if (json !== undefined) {
      const [id, bound] = json;
      const kept = source.catalog.operations.find((entry) => entry.id === id)?.request?.json;
      expect(kept?.[bound]).toBe(value);
    } else if (place !== undefined) {
      const [model = '', ...members] = place.split(' ');
      const keyword = members.pop() ?? '';
      const schema = source.models.get(model)?.schema;
      const at = members.length === 0 ? schema : schema?.properties?.[members[0] ?? ''];
      expect(under(at, keyword)).toBe(value);
    } else if (parameter !== undefined) {
      const [id, query, keyword = ''] = parameter.split(' ');
      const found = source.catalog.operations
        .find((entry) => entry.id === id)
        ?.parameters.find((each) => each.name === query);
      expect(under(found?.schema, keyword)).toBe(value);
    } else if (operation !== undefined) {
      const bodies = source.catalog.operations.filter(({ id, request }) => request !== null && operation(id));
      expect(bodies.length).toBeGreaterThan(0);
      for (const { id, request } of bodies) expect(request?.bodyLimitBytes, id).toBe(value);
    } else expect(used(name)).toBe(true);
  });

  it('no exception is left over', () => {
    const exceptions = [
      ...Object.keys(keptBySchema),
      ...Object.keys(keptByCatalog),
      ...Object.keys(keptByJson),
      ...Object.keys(keptByParameter),
    ];
    const names = new Set(source.limits.map(({ name }) => name));
    expect(exceptions.filter((name) => !names.has(name))).toEqual([]);
  });
});
