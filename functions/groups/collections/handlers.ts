import type { GroupHandlers } from '../../http/handler.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import { importCollection, startCollectionImportJob } from '../records/library/admit-record-job.ts';
import { importJobViews } from '../records/library/import-job-view.ts';
import type { RecordJobs } from '../records/library/job-facts.ts';
import {
  exportCollectionBounded,
  getCollection,
  inspectCollection,
  listCollections,
} from './collection-operations.ts';
import { createCollection, deleteCollection } from './policy-jobs.ts';

/** The operations of the group collections over one store. */
export function collectionsHandlers(
  own: RecordJobs,
  collectionJobs: JobPlugin,
): GroupHandlers<'collections'> {
  const views = importJobViews(own);
  return {
    listCollections: listCollections(own),
    getCollection: getCollection(own),
    exportCollectionBounded: exportCollectionBounded(own),
    inspectCollection: inspectCollection(own),
    createCollection: createCollection(own, collectionJobs),
    deleteCollection: deleteCollection(own, collectionJobs),
    importCollection: importCollection(own),
    startCollectionImportJob: startCollectionImportJob(own),
    listRecordImportJobs: listing(own, views),
    getRecordImportJob: showing(own, views),
    cancelRecordImportJob: cancelling(own, views),
  };
}
