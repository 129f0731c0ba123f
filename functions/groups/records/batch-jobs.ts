import { readBatch } from '../../collections/batch-upsert.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import { inTurns } from '../../kernel/turns.ts';
import { startRecordJob } from './library/admit-record-job.ts';
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
  const start = { operationId, kind: 'batch_upsert', startsAsRun } as const;
  return (input, context) =>
    startRecordJob(own, start, input, context, async (text, turns) => ({
      requested: (await inTurns(readBatch(text), turns)).items.length,
    }));
}
