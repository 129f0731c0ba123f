import { hashImport, readImport } from '../../collections/import-request.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import { accepted } from '../../jobs/admit-job.ts';
import { inTurns } from '../../kernel/turns.ts';
import { admitRecordJob, authorizeRecordJob, recordText } from '../records/library/admit-record-job.ts';
import { importJobView } from '../records/library/import-job-view.ts';
import type { RecordJobs } from '../records/library/job-facts.ts';

type Handlers = GroupHandlers<'collections'>;

export function importCollection(own: RecordJobs): Handlers['importCollection'] {
  return startImport(own, 'importCollection', true);
}

export function startCollectionImportJob(own: RecordJobs): Handlers['startCollectionImportJob'] {
  return startImport(own, 'startCollectionImportJob', false);
}

/** Both operations start the same job; the catalog asks for the right to start runs in one of them. */
function startImport(
  own: RecordJobs,
  operationId: 'importCollection' | 'startCollectionImportJob',
  startsAsRun: boolean,
): Handler<'importCollection'> & Handler<'startCollectionImportJob'> {
  return async ({ params: { collection }, query, idempotencyKey, text: read }, { caller, correlationId }) => {
    const start = { kind: 'collection_import', caller, query, startsAsRun } as const;
    const { space } = authorizeRecordJob(own, start);
    const turns = own.records.world.turns.of(space);
    const text = await recordText(own, read(), turns);
    const request = await inTurns(readImport(text, collection), turns);
    // A replacement removes records, so it needs the right to delete them.
    if (request.replaceExisting) own.access.spaceOf(caller, 'delete', query.tenantId);
    const { contentHash } = await hashImport(request, turns);
    const admitted = await admitRecordJob(own, {
      ...start,
      operationId,
      collection,
      text,
      requested: request.records.length,
      sourceCollection: request.sourceCollection,
      contentHash,
      idempotencyKey,
      correlationId,
    });
    return accepted(admitted, importJobView);
  };
}
