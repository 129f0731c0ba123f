/** Names of our own members in `_meta` of results. */
export const CONTENT_VERSION = 'svc.runtime/contentVersion';
export const PROBLEM = 'svc.runtime/problem';
