import { collectionMissing, readCollection } from '../../collections/read-policy.ts';
import type { CallContext, GroupHandlers, OperationInput } from '../../http/handler.ts';
import { mayRead } from '../../identity/record-access.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { withoutDetails } from '../../jobs/job-view.ts';
import { ingestDocument } from '../../rag/ingest.ts';
import { ingestAnswer } from '../../rag/rules/ingest-answer.ts';
import { readDocument } from '../../rag/rules/ingest-document.ts';
import { checkIngestRequest } from '../../rag/rules/ingest-request.ts';
import { admitRagJob, type RagJobBody } from './jobs/admit-rag-job.ts';
import { traceIngestion } from './jobs/ingest-trace.ts';
import type { RagLayers } from './jobs/job-facts.ts';
import { ragJobView } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'rag'>;
type Family = JobFamily<RagLayers>;
type TextId = 'ingestRagText' | 'startRagIngestionTextJob';
type BatchId = 'ingestRagTextBatch' | 'startRagIngestionBatchJob';

/** A dry run answers its plan at once; everything else is a job. */
export function ingestRagText(family: Family): Handlers['ingestRagText'] {
  return async (input, context) => {
    if (input.body.options?.dryRun === true) return planText(family, input, context);
    return admit(family, 'ingestRagText', input, context, { kind: 'text', document: input.body });
  };
}

export function startRagIngestionTextJob(family: Family): Handlers['startRagIngestionTextJob'] {
  return (input, context) =>
    admit(family, 'startRagIngestionTextJob', input, context, { kind: 'text', document: input.body });
}

export function ingestRagTextBatch(family: Family): Handlers['ingestRagTextBatch'] {
  return (input, context) =>
    admit(family, 'ingestRagTextBatch', input, context, { kind: 'batch', items: input.body.items });
}

export function startRagIngestionBatchJob(family: Family): Handlers['startRagIngestionBatchJob'] {
  return (input, context) =>
    admit(family, 'startRagIngestionBatchJob', input, context, {
      kind: 'batch',
      items: input.body.items,
    });
}

async function admit(
  family: Family,
  operationId: TextId | BatchId,
  {
    params: { collection },
    query,
    idempotencyKey,
    text,
  }: Pick<OperationInput<TextId>, 'params' | 'query' | 'idempotencyKey' | 'text'>,
  { caller, correlationId }: CallContext,
  body: RagJobBody,
) {
  const request = { operationId, caller, query, collection, text: text(), idempotencyKey, correlationId };
  const { run, replayed, headers } = await admitRagJob(family, request, body);
  const shown = mayRead(family.access, caller) ? run : withoutDetails(run);
  return { status: 202 as const, body: ragJobView(shown, null, replayed), headers };
}

async function planText(
  { retrieval, access }: Family,
  { params: { collection: name }, query, body, text }: OperationInput<'ingestRagText'>,
  { caller, signal, grow }: CallContext,
) {
  const space = access.spaceOf(caller, 'write', query.tenantId);
  // The plan tells what is stored: which texts are there, in which documents.
  access.spaceOf(caller, 'read', query.tenantId);
  const { records, embeddings } = retrieval;
  const startedAt = records.world.clock.now();
  checkIngestRequest(body);
  const collection = await readCollection(records, space, name);
  if (collection === null) throw collectionMissing(name);
  const document = readDocument(text(), collection.policy, embeddings.embedder);
  const call = { embed: embedsNothing, signal, ...(grow === undefined ? {} : { grow }) };
  const planned = await ingestDocument(records, space, document, call);
  const trace = await traceIngestion(retrieval, planned, { runId: null, index: 0, space, startedAt });
  return { status: 200 as const, body: ingestAnswer(planned.plan, [], trace) };
}

/** A dry run asks no model. */
function embedsNothing(): Promise<never> {
  return Promise.reject(new TypeError('a dry run embeds nothing'));
}
