import { readBatch } from '../../collections/batch-upsert.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import { accepted } from '../../jobs/admit-job.ts';
import { inTurns } from '../../kernel/turns.ts';
import { admitRecordJob, authorizeRecordJob, recordText } from './library/admit-record-job.ts';
import { importJobView } from './library/import-job-view.ts';
import type { RecordJobs } from './library/job-facts.ts';

type Handlers = GroupHandlers<'records'>;

export function upsertRecords(own: RecordJobs): Handlers['upsertRecords'] {
  return startBatch(own, 'upsertRecords', true);
}

export function startRecordBatchUpsertJob(own: RecordJobs): Handlers['startRecordBatchUpsertJob'] {
  return startBatch(own, 'startRecordBatchUpsertJob', false);
}

/** Both operations start the same job; the catalog asks for the right to start runs in one of them. */
function startBatch(
  own: RecordJobs,
  operationId: 'upsertRecords' | 'startRecordBatchUpsertJob',
  startsAsRun: boolean,
): Handler<'upsertRecords'> & Handler<'startRecordBatchUpsertJob'> {
  return async ({ params: { collection }, query, idempotencyKey, text: read }, { caller, correlationId }) => {
    const start = { kind: 'batch_upsert', caller, query, startsAsRun } as const;
    const { space } = authorizeRecordJob(own, start);
    const turns = own.records.world.turns.of(space);
    const text = await recordText(own, read(), turns);
    const { items } = await inTurns(readBatch(text), turns);
    const admitted = await admitRecordJob(own, {
      ...start,
      operationId,
      collection,
      text,
      requested: items.length,
      idempotencyKey,
      correlationId,
    });
    return accepted(admitted, importJobView);
  };
}
