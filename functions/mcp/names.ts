/** Name of a member that the service adds to `_meta` of results. */
export const CONTENT_VERSION = 'svc.runtime/contentVersion';
export const PROBLEM = 'svc.runtime/problem';
