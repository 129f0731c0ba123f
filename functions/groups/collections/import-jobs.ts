import { hashImport, readImport } from '../../collections/import-request.ts';
import type { GroupHandlers, Handler } from '../../http/handler.ts';

import { admitRecordJob, authorizeRecordJob, requestText } from '../records/library/admit-record-job.ts';
import { importJobView } from '../records/library/import-job-view.ts';
import type { CollectionsDependencies } from './dependencies.ts';

type Handlers = GroupHandlers<'collections'>;

export function importCollection(dependencies: CollectionsDependencies): Handlers['importCollection'] {
  return startImport(dependencies, 'importCollection', true);
}

export function startCollectionImportJob(
  dependencies: CollectionsDependencies,
): Handlers['startCollectionImportJob'] {
  return startImport(dependencies, 'startCollectionImportJob', false);
}

/** Both operations start the same job; the catalog asks for the right to start runs in one of them. */
function startImport(
  { recordJobs, world }: CollectionsDependencies,
  operationId: 'importCollection' | 'startCollectionImportJob',
  startsAsRun: boolean,
): Handler<'importCollection'> & Handler<'startCollectionImportJob'> {
  return async ({ params: { collection }, query, idempotencyKey, text: read }, { caller, correlationId }) => {
    const start = { kind: 'collection_import', caller, query, startsAsRun } as const;
    const { space } = authorizeRecordJob(recordJobs, start);
    const text = requestText(recordJobs.payloads, read());
    const request = readImport(text, collection);
    // A replacement removes records, so it needs the right to delete them.
    if (request.replaceExisting) recordJobs.access.spaceOf(caller, 'delete', query.tenantId);
    const { contentHash } = await hashImport(request, world.turns.of(space));
    const { run, replayed, headers } = await admitRecordJob(recordJobs, {
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
    return { status: 202, body: importJobView(run, null, replayed), headers };
  };
}
