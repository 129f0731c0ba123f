import type { GroupHandlers } from '../../http/handler.ts';
import { startRecordBatchUpsertJob, upsertRecords } from './batch-jobs.ts';
import type { RecordsDependencies } from './dependencies.ts';
import { deleteRecord, getRecord, queryRecords, searchRecords, upsertRecord } from './record-operations.ts';

/** The operations of the group records over one store. */
export function recordsHandlers(dependencies: RecordsDependencies): GroupHandlers<'records'> {
  return {
    getRecord: getRecord(dependencies),
    deleteRecord: deleteRecord(dependencies),
    upsertRecord: upsertRecord(dependencies),
    queryRecords: queryRecords(dependencies),
    searchRecords: searchRecords(dependencies),
    upsertRecords: upsertRecords(dependencies),
    startRecordBatchUpsertJob: startRecordBatchUpsertJob(dependencies),
  };
}
