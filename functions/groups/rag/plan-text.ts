import { collectionMissing, readCollection } from '../../collections/read-policy.ts';
import type { CallContext, OperationInput } from '../../http/handler.ts';
import { ingestDocument } from '../../rag/ingest.ts';
import { ingestAnswer } from '../../rag/rules/ingest-answer.ts';
import { readDocument } from '../../rag/rules/ingest-document.ts';
import { checkIngestRequest } from '../../rag/rules/ingest-request.ts';
import { traceIngestion } from './jobs/ingest-trace.ts';
import type { RagLayers } from './jobs/job-view.ts';

/** The answer of a dry run. */
export async function planText(
  { retrieval, access }: Pick<RagLayers, 'retrieval' | 'access'>,
  { params: { collection: name }, query, body, text }: OperationInput<'ingestRagText'>,
  { caller, signal, grow }: CallContext,
) {
  const space = access.spaceOf(caller, 'write', query.tenantId);
  // The plan reveals stored texts and documents, so the caller needs the right to read.
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

/** A dry run does not call a model. */
function embedsNothing(): Promise<never> {
  return Promise.reject(new TypeError('a dry run embeds nothing'));
}
