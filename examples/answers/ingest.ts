import type {
  RagIngestionJob,
  RagIngestTextBatchResult,
  RagIngestTextRequest,
  SvcClient,
} from '../../sdk/typescript/src/index.ts';
import type { Page } from './documents.ts';

export const COLLECTION = 'manual';
const PARTITION = 'docs';
/** Documents of one batch: a job of this size stays far below the largest payload. */
const BATCH = 8;

/** How pages are ingested: an edited one has its unchanged chunks left alone, and loses those that it no longer has. */
const options = {
  chunkChars: 900,
  chunkOverlapChars: 0,
  replaceDocumentChunks: true,
  skipUnchangedChunks: true,
  reuseExistingChunkVectors: true,
  persistManifest: true,
};

function documentOf({ path, title, text }: Page): RagIngestTextRequest {
  return {
    documentId: path,
    partitionKey: PARTITION,
    text,
    sourceUri: path,
    sourceLabel: title,
    metadata: { title },
    options,
  };
}

/** The counts of the ingested pages, summed over the batches. */
export interface Ingested {
  documents: number;
  chunks: number;
  /** Chunks whose records were left as they were. */
  untouched: number;
  /** Vectors that the model made. */
  generated: number;
}

/** Ingests pages by batch jobs. With the key of a batch a repeat answers the first job. */
export async function ingestPages(
  client: SvcClient,
  pages: readonly Page[],
  edition: string,
): Promise<Ingested> {
  const sum = { documents: 0, chunks: 0, untouched: 0, generated: 0 };
  for (let at = 0; at < pages.length; at += BATCH) {
    const items = pages.slice(at, at + BATCH).map(documentOf);
    const call = { idempotencyKey: `${edition}-${at}` };
    const job = await client.ingestRagTexts(COLLECTION, { items }, {}, call);
    const result = wholeBatch(await ended(client, job));
    sum.documents += result.succeeded;
    sum.chunks += result.chunkCount;
    sum.untouched += result.reusedCount;
    sum.generated += result.vectorGeneratedCount;
  }
  return sum;
}

/** Ingests an edited page: first as a plan, then for real. Throws where the two touch different chunks. */
export async function ingestEdited(client: SvcClient, page: Page) {
  const document = documentOf(page);
  const dry = { ...document, options: { ...options, dryRun: true } };
  const plan = await client.ingestRagText(COLLECTION, dry);
  if (!('planHash' in plan)) throw new Error('a dry run answered a job');
  const expected = { ...document, options: { ...options, expectedPlanHash: plan.planHash } };
  const admitted = await client.ingestRagText(COLLECTION, expected);
  if (!('admission' in admitted)) throw new Error('an ingestion answered no job');
  const { textResult } = await ended(client, admitted);
  if (textResult === null || textResult.planHashComparison.status !== 'matched')
    throw new Error('the ingestion did something else than its plan');
  return textResult;
}

async function ended(client: SvcClient, { id }: { readonly id: string }): Promise<RagIngestionJob> {
  const job = await client.waitForRagIngestionJob(id);
  if (job?.status !== 'succeeded') throw new Error(`The job ${id} is ${job?.status}: ${job?.error}`);
  return job;
}

function wholeBatch({ batchResult, requested }: RagIngestionJob): RagIngestTextBatchResult {
  if (batchResult === null || batchResult.succeeded !== requested)
    throw new Error(
      `a batch has failed documents: ${JSON.stringify(batchResult?.items.map(({ error }) => error))}`,
    );
  return batchResult;
}
