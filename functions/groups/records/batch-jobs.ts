import { readBatch } from '../../collections/batch-upsert.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import type { RecordsDependencies } from './dependencies.ts';
import { admitRecordJob, authorizeRecordJob, requestText } from './library/admit-record-job.ts';
import { importJobView } from './library/import-job-view.ts';

type Handlers = GroupHandlers<'records'>;

export function upsertRecords(dependencies: RecordsDependencies): Handlers['upsertRecords'] {
  return startBatch(dependencies, 'upsertRecords', true);
}

export function startRecordBatchUpsertJob(
  dependencies: RecordsDependencies,
): Handlers['startRecordBatchUpsertJob'] {
  return startBatch(dependencies, 'startRecordBatchUpsertJob', false);
}

/** Both operations start the same job; the catalog asks for the right to start runs in one of them. */
function startBatch(
  { recordJobs }: RecordsDependencies,
  operationId: 'upsertRecords' | 'startRecordBatchUpsertJob',
  startsAsRun: boolean,
): Handler<'upsertRecords'> & Handler<'startRecordBatchUpsertJob'> {
  return async ({ params: { collection }, query, idempotencyKey, text: read }, { caller, correlationId }) => {
    const start = { kind: 'batch_upsert', caller, query, startsAsRun } as const;
    authorizeRecordJob(recordJobs, start);
    const text = requestText(recordJobs.payloads, read());
    const requested = readBatch(text).items.length;
    const { run, replayed, headers } = await admitRecordJob(recordJobs, {
      ...start,
      operationId,
      collection,
      text,
      requested,
      idempotencyKey,
      correlationId,
    });
    return { status: 202, body: importJobView(run, null, replayed), headers };
  };
}
