import type { GroupHandlers } from '../../http/handler.ts';
import { getRecord } from './get-operation.ts';
import { startRecordBatchUpsertJob, upsertRecords } from './library/admit-record-job.ts';
import type { RecordJobs } from './library/job-facts.ts';
import { queryRecords, searchRecords } from './search-operations.ts';
import { deleteRecord, upsertRecord } from './write-operations.ts';

/** The operations of the group records over one store. */
export function recordsHandlers(own: RecordJobs): GroupHandlers<'records'> {
  return {
    getRecord: getRecord(own),
    deleteRecord: deleteRecord(own),
    upsertRecord: upsertRecord(own),
    queryRecords: queryRecords(own),
    searchRecords: searchRecords(own),
    upsertRecords: upsertRecords(own),
    startRecordBatchUpsertJob: startRecordBatchUpsertJob(own),
  };
}
