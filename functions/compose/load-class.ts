import type { OperationEntry } from '../../contracts/operation.ts';
import type { Load } from '../http/class-line.ts';

/** Each keeps work that is done, or ends it: refused, the work would be done again. */
const LEASE: ReadonlySet<string> = new Set([
  'heartbeatExternalExecutionLease',
  'completeExternalExecutionLease',
  'reportExternalExecutionLease',
  'releaseExternalExecutionLease',
  'putExternalExecutionLeaseCheckpoint',
  'waitExternalExecutionLease',
  'renewCanonicalOutboxLease',
  'acknowledgeCanonicalOutbox',
  'releaseCanonicalOutbox',
]);

/** Lists, exports and imports, judgements of many records, and calls that only begin more work. */
const BULK =
  /^(?:list|export|import|restore|inspect|evaluate|compare|summarize|prune|reconcile|preflight|probe|apply|qualify|doctor)|Job$|Batch$|Doctor$/;
/** Cancelling a job, and looking at one. */
const OF_ONE_JOB = /^(?:get|cancel)\w+Job$/;

const WAITING_GROUPS: ReadonlySet<string> = new Set([
  'artifacts',
  'embeddings',
  'objects',
  'providers',
  'rag',
  'retrieval',
]);
const WAITING: ReadonlySet<string> = new Set([
  'getExecutionRun',
  'getExecutionRunArtifact',
  'leaseCanonicalOutbox',
  'leaseExternalExecutionRun',
  'putExternalExecutionLeaseArtifact',
  'raiseExecutionEvent',
  'receiveDelivery',
  'searchRecords',
  'startExecutionRun',
]);

/** Decide whether the process is restarted, which would help no caller. */
const PROBES: ReadonlySet<string> = new Set(['getHealth', 'getReadiness', 'getWorkerHealth']);

/** `null`: the request is always served. */
export function loadOf({ id, group, authorizationClass }: OperationEntry): Load | null {
  if (PROBES.has(id)) return null;
  if (LEASE.has(id)) return { loadClass: 'lease', mayWait: false };
  const isBulk = authorizationClass === 'anonymous' || (BULK.test(id) && !OF_ONE_JOB.test(id));
  const mayWait = isBulk || WAITING_GROUPS.has(group) || WAITING.has(id);
  return { loadClass: isBulk ? 'bulk' : 'usual', mayWait };
}

/** The paths of requests that are not judged before their operation is known, since they may be served before all others. */
const SERVED_FIRST = /^\/(?:health|readiness)|\/leases|\/outbox\//;

export function mayBeServedFirst(target: string): boolean {
  return SERVED_FIRST.test(target);
}
