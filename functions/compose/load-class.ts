import type { OperationEntry } from '../../contracts/operation.ts';
import type { RequestLoad } from '../http/class-line.ts';

/**
 * Calls that keep or end work under a lease: a refusal would make a worker do the work again. So it is with the start of a child,
 * without which its parent does not go on.
 */
const LEASE =
  /^(?:heartbeat|complete|report|release|renew|acknowledge|wait)(?=[A-Z])|Lease(?:Checkpoint|Child)$/;

/** Lists, exports and restores, judgements of many records, and the work of upkeep. */
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

/** Probes: a refusal would make the platform restart the process, which would help no caller. */
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

/** An answer 202 admits work to do later: under overload the service admits none. */
function isBulkWork({ id, authorizationClass, completion, responses }: OperationEntry): boolean {
  const admitsWork = responses.some(({ status }) => status === 202);
  const isPage = authorizationClass === 'anonymous';
  return admitsWork || isPage || completion === 'maintenance' || BULK.test(id);
}

/** Requests with these paths may have priority, so they are judged only when their operation is known. */
const SERVED_FIRST = /^\/(?:health|readiness)|\/leases|\/outbox\//;

export function mayBeServedFirst(target: string): boolean {
  return SERVED_FIRST.test(target);
}
