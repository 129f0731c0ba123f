import { collectionMissing, readCollection } from '../../../collections/read-policy.ts';
import type { CollectionPolicy } from '../../../collections/rules/policy.ts';
import { splitInSteps } from '../../../collections/rules/request-items.ts';
import { textVectors } from '../../../embeddings/text-vectors.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import type { JsonObject } from '../../../kernel/canonical-json.ts';
import { refusalWords, ServiceError } from '../../../kernel/errors.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { inTurns } from '../../../kernel/turns.ts';
import { type Ingested, ingestDocument } from '../../../rag/ingest.ts';
import { IngestProgress } from '../../../rag/ingest-progress.ts';
import {
  addedTotals,
  type BatchItemAnswer,
  batchAnswer,
  type IngestAnswer,
  type IngestTotals,
  ingestAnswer,
  NO_TOTALS,
} from '../../../rag/rules/ingest-answer.ts';
import { type IngestDocument, readDocument } from '../../../rag/rules/ingest-document.ts';
import { type IngestRequest, removesRecords } from '../../../rag/rules/ingest-request.ts';
import { BATCH_CHUNKS_MAX } from '../../../rag/rules/limits.ts';
import { RequestRecords } from '../../../rag/rules/plan-chunks.ts';
import { REPORT_MS } from '../../../runs/plugin.ts';
import { traceIngestion } from './ingest-trace.ts';
import type { RagLayers } from './job-view.ts';

/** Refusals of a single document. They do not fail the batch. */
const OF_A_DOCUMENT: ReadonlySet<string> = new Set([
  'validation_failed',
  'limit_exceeded',
  'malformed_request',
]);

/** The documents of one job, one after the other. */
export class DocumentIngestion {
  readonly #parts: RagLayers;
  readonly #context: JobContext;
  readonly #collection: string;
  /** Records to which later documents may refer: written records, or in a dry run all records that the request would write. */
  #written = new RequestRecords();
  #planned = new RequestRecords();
  readonly #reports: Reports;
  readonly #answered: () => Promise<void>;

  constructor(
    parts: RagLayers,
    context: JobContext,
    { collection, answered }: { readonly collection: string; readonly answered: () => Promise<void> },
  ) {
    this.#parts = parts;
    this.#context = context;
    this.#collection = collection;
    this.#answered = answered;
    this.#reports = new Reports(parts, context);
  }

  async text(text: string): Promise<IngestAnswer> {
    const answer = await this.#ingest(text, 0, { chunksMax: BATCH_CHUNKS_MAX, isLast: true });
    await this.#reports.done({ attempted: 1, succeeded: 1, failed: 0 }, answer);
    return answer;
  }

  async batch(text: string) {
    const turns = this.#parts.records.world.turns.of(this.#context.job.space);
    const split = await inTurns(splitInSteps(text, ['items']), turns);
    const { frame, items } = split ?? { frame: text, items: [] };
    const { continueOnError } = parseJson(frame) as { readonly continueOnError?: boolean | null };
    const answers: BatchItemAnswer[] = [];
    this.#written = new RequestRecords();
    this.#planned = new RequestRecords();
    let totals = NO_TOTALS;
    for (const [index, item] of items.entries()) {
      const chunksMax = BATCH_CHUNKS_MAX - totals.chunkCount;
      const isLast = index === items.length - 1;
      const answer = await this.#item(item, index, { chunksMax, isLast });
      answers.push(answer);
      if (answer.result !== null) totals = addedTotals(totals, answer.result);
      if (answer.status === 'failed' && continueOnError !== true) break;
      this.#reports.moved(countsOf(answers), totals);
    }
    await this.#reports.done(countsOf(answers), totals);
    return batchAnswer(this.#collection, items.length, answers);
  }

  async #item(text: string, index: number, place: DocumentPlace): Promise<BatchItemAnswer> {
    const pointer = `/items/${index}`;
    try {
      const result = await this.#ingest(text, index, place, pointer);
      const { documentId, partitionKey } = result;
      return { index, documentId, partitionKey, status: 'succeeded', result, error: null };
    } catch (error) {
      if (!(error instanceof ServiceError) || !OF_A_DOCUMENT.has(error.code)) throw error;
      const { documentId = null, partitionKey } = parseJson(text) as IngestRequest;
      const words = refusalWords(error).slice(0, 4_096).toWellFormed();
      return { index, documentId, partitionKey, status: 'failed', result: null, error: words };
    }
  }

  async #ingest(text: string, index: number, place: DocumentPlace, pointer = ''): Promise<IngestAnswer> {
    const { records } = this.#parts;
    const { space } = this.#context.job;
    const startedAt = records.world.clock.now();
    const document = readDocument(text, await this.#policy(), this.#parts.embeddings.embedder, pointer);
    this.#judge(document);
    await this.#reports.begins(index, document);
    const { signal, runId } = this.#context;
    const { dryRun } = document.options;
    const ingested = await ingestDocument(records, space, document, {
      embed: (texts) => this.#embed(document, texts),
      known: dryRun ? this.#planned : this.#written,
      chunksMax: place.chunksMax,
      pointer,
      signal,
      progress: new IngestProgress(records, { space, runId, index }),
      ...(place.isLast ? { decide: () => this.#context.decide() } : {}),
    });
    if (!dryRun) await inTurns(this.#planned.remember(ingested.plan), records.world.turns.of(space));
    const traced = { runId, index, space, startedAt };
    return ingestAnswer(ingested.plan, ingested.written?.stamps ?? [], await this.#trace(ingested, traced));
  }

  async #policy(): Promise<CollectionPolicy> {
    const { records } = this.#parts;
    const found = await readCollection(records, this.#context.job.space, this.#collection);
    if (found === null) throw collectionMissing(this.#collection);
    return found.policy;
  }

  /** Checks the rights again, because the caller may have lost them since the admission. */
  #judge({ options }: IngestDocument): void {
    if (!removesRecords(options)) return;
    const { caller, space } = this.#context.job;
    this.#parts.access.judgeRecordJob({ caller, space, operation: 'delete' });
  }

  async #embed({ embedding }: IngestDocument, texts: readonly string[]): Promise<readonly Float32Array[]> {
    const { signal, job } = this.#context;
    const call = { purpose: embedding.purpose, signal, space: job.space, moved: this.#answered };
    const vectors = await textVectors(this.#parts.embeddings, [...new Set(texts)], call);
    return texts.map((text) => vectors.get(text) ?? new Float32Array());
  }

  #trace(ingested: Ingested, place: Parameters<typeof traceIngestion>[2]): Promise<JsonObject | null> {
    return traceIngestion(this.#parts, ingested, place);
  }
}

interface DocumentPlace {
  readonly chunksMax: number;
  /** Whether the job ends with this document. */
  readonly isLast: boolean;
}

interface Counts {
  readonly attempted: number;
  readonly succeeded: number;
  readonly failed: number;
}

function countsOf(answers: readonly BatchItemAnswer[]): Counts {
  const failed = answers.filter(({ status }) => status === 'failed').length;
  return { attempted: answers.length, succeeded: answers.length - failed, failed };
}

/** The progress reports of the run: at the beginning, at the end and at intervals. */
class Reports {
  readonly #clock: RagLayers['records']['world']['clock'];
  readonly #context: JobContext;
  #at = Number.NEGATIVE_INFINITY;
  #totals: IngestTotals = NO_TOTALS;
  #counts: Counts = { attempted: 0, succeeded: 0, failed: 0 };

  constructor({ records }: RagLayers, context: JobContext) {
    this.#clock = records.world.clock;
    this.#context = context;
  }

  async begins(index: number, { documentId, partitionKey }: IngestDocument): Promise<void> {
    if (this.#clock.now() - this.#at < REPORT_MS) return;
    await this.#report({
      currentIndex: index,
      currentDocumentId: documentId,
      currentPartitionKey: partitionKey,
    });
  }

  moved(counts: Counts, totals: IngestTotals): void {
    [this.#counts, this.#totals] = [counts, totals];
  }

  async done(counts: Counts, totals: IngestTotals): Promise<void> {
    this.moved(counts, addedTotals(NO_TOTALS, totals));
    await this.#report({ currentIndex: null, currentDocumentId: null, currentPartitionKey: null });
  }

  async #report(current: JsonObject): Promise<void> {
    this.#at = this.#clock.now();
    const requested = this.#context.job.requested ?? 0;
    const { attempted } = this.#counts;
    await this.#context.report({
      requested,
      ...this.#counts,
      progress: requested === 0 ? 1 : attempted / requested,
      statusDetails: { ...this.#totals, ...current },
    });
  }
}
