/** Name of a member that the service adds to `_meta` of results. */
/** The member of the metadata of a task that has the id of its run. */
export const RUN_ID = 'svc.runtime/runId';

export const CONTENT_VERSION = 'svc.runtime/contentVersion';
export const PROBLEM = 'svc.runtime/problem';
