import type { OperationEntry } from '../../contracts/operation.ts';
import type { RequestLoad } from '../http/class-line.ts';

/** Each keeps work that is done, or ends it: refused, the work would be done again. Heartbeats and completions come first. */
const LEASE = /^(?:heartbeat|complete|report|release|renew|acknowledge|wait)(?=[A-Z])|LeaseCheckpoint$/;

/** Lists, exports and restores, judgements of many records, and what upkeep does. */
const BULK =
  /^(?:list|export|restore|inspect|evaluate|compare|summarize|preflight|apply|doctor)(?=[A-Z])|Doctor$/;

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

/** `null`: the request is always served. Reads and writes are `usual` unless they are work for a whole tenant or collection. */
export function loadOf(entry: OperationEntry): RequestLoad | null {
  const { id, group, mutation } = entry;
  if (PROBES.has(id)) return null;
  if (LEASE.test(id) && mutation === 'write') return { loadClass: 'lease', mayWait: false };
  const isBulk = isBulkWork(entry);
  const mayWait = isBulk || WAITING_GROUPS.has(group) || WAITING.has(id);
  return { loadClass: isBulk ? 'bulk' : 'usual', mayWait };
}

/** An answer 202 admits work that is still to be done: under overload the service begins none. */
function isBulkWork({ id, authorizationClass, completion, responses }: OperationEntry): boolean {
  const admitsWork = responses.some(({ status }) => status === 202);
  const isPage = authorizationClass === 'anonymous';
  return admitsWork || isPage || completion === 'maintenance' || BULK.test(id);
}

/** The paths of requests that are not judged before their operation is known, since they may be served before all others. */
const SERVED_FIRST = /^\/(?:health|readiness)|\/leases|\/outbox\//;

export function mayBeServedFirst(target: string): boolean {
  return SERVED_FIRST.test(target);
}
