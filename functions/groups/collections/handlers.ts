import type { GroupHandlers } from '../../http/handler.ts';
import {
  exportCollectionBounded,
  getCollection,
  inspectCollection,
  listCollections,
} from './collection-operations.ts';
import type { CollectionsDependencies } from './dependencies.ts';
import { importCollection, startCollectionImportJob } from './import-jobs.ts';
import { cancelRecordImportJob, getRecordImportJob, listRecordImportJobs } from './job-views.ts';
import { createCollection, deleteCollection } from './policy-jobs.ts';

/** The operations of the group collections over one store. */
export function collectionsHandlers(dependencies: CollectionsDependencies): GroupHandlers<'collections'> {
  return {
    listCollections: listCollections(dependencies),
    getCollection: getCollection(dependencies),
    exportCollectionBounded: exportCollectionBounded(dependencies),
    inspectCollection: inspectCollection(dependencies),
    createCollection: createCollection(dependencies),
    deleteCollection: deleteCollection(dependencies),
    importCollection: importCollection(dependencies),
    startCollectionImportJob: startCollectionImportJob(dependencies),
    listRecordImportJobs: listRecordImportJobs(dependencies),
    getRecordImportJob: getRecordImportJob(dependencies),
    cancelRecordImportJob: cancelRecordImportJob(dependencies),
  };
}
