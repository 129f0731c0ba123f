import { hashImport, readImport } from '../../collections/import-request.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import { inTurns } from '../../kernel/turns.ts';
import { startRecordJob } from '../records/library/admit-record-job.ts';
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
  const start = { operationId, kind: 'collection_import', startsAsRun } as const;
  return (input, context) =>
    startRecordJob(own, start, input, context, async (text, turns) => {
      const request = await inTurns(readImport(text, input.params.collection), turns);
      // A replacement removes records, so it needs the right to delete them.
      if (request.replaceExisting) own.access.spaceOf(context.caller, 'delete', input.query.tenantId);
      const { contentHash } = await hashImport(request, turns);
      const { sourceCollection, records } = request;
      return { requested: records.length, sourceCollection, contentHash };
    });
}
