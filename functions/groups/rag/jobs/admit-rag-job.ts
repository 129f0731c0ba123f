import { boundTo } from '../../../collections/bound-collections.ts';
import type { CallContext, GroupHandlers, OperationInput } from '../../../http/handler.ts';
import { mayRead } from '../../../identity/record-access.ts';
import { type AdmittedJob, accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type CollectionCall, collectionCall, type JobFamily, ofCall } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import {
  checkBatch,
  checkIngestRequest,
  type IngestRequest,
  removesRecords,
} from '../../../rag/rules/ingest-request.ts';
import { RAG_KIND_TAG, type RagLayers, ragJobView } from './job-view.ts';
import { BATCH_HANDLER, TEXT_HANDLER } from './rag-jobs.ts';

type Handlers = GroupHandlers<'rag'>;
type Family = JobFamily<RagLayers>;
type TextId = 'ingestRagText' | 'startRagIngestionTextJob';
type BatchId = 'ingestRagTextBatch' | 'startRagIngestionBatchJob';

/** A request that passed its schema. */
type RagJobBody =
  | { readonly kind: 'text'; readonly document: IngestRequest }
  | { readonly kind: 'batch'; readonly items: readonly IngestRequest[] };

/**
 * Admits a job that ingests documents. Stages a request that is too large for a run. Throws `permission_denied` before it checks the
 * request, `validation_failed` or `limit_exceeded` for documents that no collection accepts, and the errors of `admitJob`.
 * @testonly
 */
export async function admitRagJob(
  { records, jobs, plugin, payloads, access }: JobFamily,
  call: CollectionCall,
  body: RagJobBody,
): Promise<AdmittedJob> {
  const { caller, query, collection, operationId } = call;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const documents = body.kind === 'text' ? [body.document] : body.items;
  if (documents.some(({ options }) => removesRecords(options)))
    access.spaceOf(caller, 'delete', query.tenantId);
  if (body.kind === 'text') checkIngestRequest(body.document);
  else checkBatch(body.items);
  const text = await requestText(payloads, call.text, 'ingestion', records.world.turns.of(space));
  return admitJob(jobs, plugin, {
    ...ofCall(access, call, space),
    operationId,
    handlerId: body.kind === 'text' ? TEXT_HANDLER : BATCH_HANDLER,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    ...(await textPayload(payloads, space, { collection }, text)),
    requested: documents.length,
    tags: { [RAG_KIND_TAG]: body.kind, 'svc.collection': collection },
  });
}

/** A dry run returns its plan at once; any other request is a job. */
export function ingestRagText(family: Family): Handlers['ingestRagText'] {
  return async (input, context) => {
    if (input.body.options?.dryRun !== true) return admitText(family, 'ingestRagText', input, context);
    const { planText } = await import('../plan-text.ts');
    return planText(family, input, context);
  };
}

export function startRagIngestionTextJob(family: Family): Handlers['startRagIngestionTextJob'] {
  return (input, context) => admitText(family, 'startRagIngestionTextJob', input, context);
}

export function ingestRagTextBatch(family: Family): Handlers['ingestRagTextBatch'] {
  return (input, context) => admitBatch(family, 'ingestRagTextBatch', input, context);
}

export function startRagIngestionBatchJob(family: Family): Handlers['startRagIngestionBatchJob'] {
  return (input, context) => admitBatch(family, 'startRagIngestionBatchJob', input, context);
}

async function admitText(family: Family, id: TextId, input: OperationInput<TextId>, context: CallContext) {
  const call = collectionCall(id, input, context);
  const admitted = await admitRagJob(family, call, { kind: 'text', document: input.body });
  return accepted(admitted, ragJobView, mayRead(family.access, context.caller));
}

async function admitBatch(family: Family, id: BatchId, input: OperationInput<BatchId>, context: CallContext) {
  const call = collectionCall(id, input, context);
  const admitted = await admitRagJob(family, call, { kind: 'batch', items: input.body.items });
  return accepted(admitted, ragJobView, mayRead(family.access, context.caller));
}
