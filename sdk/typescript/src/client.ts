import { changedOptions } from './core.ts';
import { found } from './find.ts';
import { Operations } from './generated/client.ts';
import type {
  CanonicalDocument,
  CanonicalDocumentReadRequest,
  EmbeddingJob,
  ExecutionRun,
  GraphJob,
  ProviderRunJob,
  RagIngestionJob,
  RecordImportJob,
  RetrievalEvaluationJob,
} from './generated/models.ts';
import type { CallOptions, ClientOptions } from './options.ts';
import { waitForJob } from './wait-job.ts';
import { type RunWaitOptions, waitForRun } from './wait-run.ts';

/** A client of one service, with every operation. It holds no connection, so nothing needs to be closed. */
export class SvcClient extends Operations {
  /** Another client with the options of this one, replaced by those that are given here. */
  withOptions(options: ClientOptions): SvcClient {
    return new SvcClient(changedOptions(this, options));
  }

  /**
   * The current revision of a document, as `getCanonicalDocument` reads it; `null` if there is none. A deleted document is
   * `null` unless `includeDeleted` is true.
   */
  findCanonicalDocument(
    tenantId: string,
    request: CanonicalDocumentReadRequest,
    options: CallOptions = {},
  ): Promise<CanonicalDocument | null> {
    return found(this.getCanonicalDocument(tenantId, request, options));
  }

  /**
   * Waits until the run has ended and returns it with any final `status`. Each read waits at the service, so the end arrives
   * without delay. Throws `APITimeoutError` if `waitTimeout` passes first; the run then continues.
   */
  waitForExecutionRun(runId: string, options: RunWaitOptions = {}): Promise<ExecutionRun> {
    return waitForRun(this, runId, options);
  }

  /**
   * Waits until the import or batch has ended and returns it, also a failed one; `null` if there is no such job. Throws
   * `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForRecordImportJob(jobId: string, options: RunWaitOptions = {}): Promise<RecordImportJob | null> {
    const reader = { operation: 'getRecordImportJob', read: this.getRecordImportJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }

  /**
   * Waits until the embedding job has ended and returns it, with its vectors if it has succeeded; `null` if there is no such job.
   * Throws `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForEmbeddingJob(jobId: string, options: RunWaitOptions = {}): Promise<EmbeddingJob | null> {
    const reader = { operation: 'getEmbeddingJob', read: this.getEmbeddingJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }

  /**
   * Waits until the provider job has ended and returns it, with the result also of a run that did not succeed; `null` if there is no
   * such job. Throws `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForProviderJob(jobId: string, options: RunWaitOptions = {}): Promise<ProviderRunJob | null> {
    const reader = { operation: 'getProviderRunJob', read: this.getProviderJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }

  /**
   * Waits until the evaluation or comparison has ended and returns it, with its result if it has succeeded; `null` if there is no
   * such job. Throws `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForRetrievalEvaluationJob(
    jobId: string,
    options: RunWaitOptions = {},
  ): Promise<RetrievalEvaluationJob | null> {
    const read = this.getRetrievalEvaluationJob.bind(this, jobId);
    return waitForJob(this, { operation: 'getRetrievalEvaluationJob', read }, options);
  }

  /**
   * Waits until the graph job has ended and returns it, with its result if it has succeeded; `null` if there is no such job. Throws
   * `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForGraphJob(jobId: string, options: RunWaitOptions = {}): Promise<GraphJob | null> {
    const reader = { operation: 'getGraphJob', read: this.getGraphJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }

  /**
   * Waits until the ingestion has ended and returns it, with the outcome of each chunk if it has succeeded; `null` if there is no
   * such job. Throws `APITimeoutError` if `waitTimeout` passes first; the job then continues.
   */
  waitForRagIngestionJob(jobId: string, options: RunWaitOptions = {}): Promise<RagIngestionJob | null> {
    const reader = { operation: 'getRagIngestionJob', read: this.getRagIngestionJob.bind(this, jobId) };
    return waitForJob(this, reader, options);
  }
}
