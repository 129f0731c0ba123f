import { APITimeoutError, type RecordImportJob, type SvcClient } from '../../sdk/typescript/src/index.ts';

/** How often the progress of a job is read. */
const LOOK_MS = 300;

/** Waits for the end of a job, which must have written every record. */
export async function written(
  client: SvcClient,
  job: RecordImportJob,
  show: (records: number) => void,
): Promise<RecordImportJob> {
  for (;;) {
    await client.waitForRecordImportJob(job.id, { waitTimeout: LOOK_MS }).catch((error: unknown) => {
      if (!(error instanceof APITimeoutError)) throw error;
    });
    const now = await client.getRecordImportJob(job.id);
    if (now === null) throw new Error(`There is no job ${job.id}`);
    show(now.succeeded);
    if (now.completedAt !== null) return mustBeWhole(now);
  }
}

function mustBeWhole(job: RecordImportJob): RecordImportJob {
  // A job whose records partly failed succeeds too, and its result names them.
  if (job.status === 'succeeded' && job.succeeded === job.requested) return job;
  const { items = [] } = job.batchResult ?? job.importResult?.records ?? {};
  const failed = items.find(({ status }) => status === 'failed');
  const reason = job.error ?? failed?.error ?? 'it says no reason';
  throw new Error(`The job ${job.id} is ${job.status} with ${job.succeeded} of ${job.requested}: ${reason}`);
}

/** Waits for a run that creates or deletes a collection. */
export async function done(client: SvcClient, run: { readonly id: string }): Promise<void> {
  const { status, error } = await client.waitForExecutionRun(run.id);
  if (status !== 'succeeded')
    throw new Error(`The run ${run.id} is ${status}: ${error ?? 'without a reason'}`);
}
