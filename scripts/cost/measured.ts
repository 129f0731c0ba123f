/**
 * The cloud resources that each operation uses: calls of Firestore, documents read, written and deleted, operations of Cloud Tasks,
 * and requests to the functions. Tests count all of them (`test/firestore/*bill*`, `*cost*`) and fail where this table differs.
 */
export interface Usage {
  readonly calls: number;
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  readonly tasks: number;
  readonly requests: number;
}

const usage = (
  [calls, reads, writes, deletes = 0]: readonly [number, number, number, number?],
  requests = 1,
  tasks = 0,
): Usage => ({ calls, reads, writes, deletes, tasks, requests });

/** Operations of the canonical store. */
export const canonical = {
  'commit: one upsert, one event': usage([2, 3, 3]),
  'commit: one create (`mustNotExist`), one event': usage([2, 2, 3]),
  'commit: one upsert, one event, one fence': usage([2, 4, 4]),
  'commit: 100 creates': usage([2, 2, 101]),
  'replay of a commit': usage([2, 5, 0]),
  'document read': usage([1, 2, 0]),
  'query: one equality, 20 documents': usage([2, 21, 0]),
  'query: type, ordered by an index, 20 of many': usage([2, 22, 0]),
  'query: two equalities, 20 documents': usage([4, 23, 0]),
  'lease of 10 events': usage([3, 11, 10]),
  'lease when nothing is due': usage([2, 2, 0]),
  'acknowledge, renew or release one event': usage([2, 2, 1]),
} as const;

/** Operations of runs without Cloud Tasks: workers poll, or the handler is in the process. */
export const execution = {
  'run of a handler in process, its result waited for': usage([5, 7, 4], 2),
  'run by a worker: start, lease, complete': usage([6, 7, 5], 3),
  'the same with an idempotency key': usage([6, 8, 6], 3),
  'run of ten steps by a worker, one after the other': usage([28, 39, 27], 13),
  'start that repeats an earlier one': usage([2, 5, 0]),
  'more for a retry: failed, due, leased again': usage([7, 7, 4], 2),
  'more for an event: waited for, raised, leased again, taken': usage([8, 8, 4], 4),
  'more for a timer: waited for, due, leased again, taken': usage([9, 8, 4], 3),
  heartbeat: usage([2, 2, 1]),
  'report of progress': usage([2, 2, 1]),
  'trace event': usage([2, 2, 1]),
  checkpoint: usage([2, 3, 2]),
  'artifact, kept inline': usage([3, 4, 2]),
  'read of a run': usage([1, 2, 0]),
  'lease when no run is ready, woken by the local queue': usage([0, 0, 0]),
  'lease when no run is ready, with a search of the store': usage([2, 2, 0]),
  'settling when no run is due': usage([2, 2, 0], 0),
  'prune when there is nothing to remove': usage([12, 12, 0]),
  'prune of a run that has nothing beside it': usage([14, 14, 0, 1]),
  'prune of a run with a key, a checkpoint and an artifact': usage([18, 21, 0, 4]),
  'reconcile when nothing is lost': usage([8, 8, 0]),
  'reconcile that tells again of two runs': usage([8, 9, 0]),
} as const;

/** Operations of runs whose messages are tasks of Cloud Tasks. A delivery to a worker of the caller is no request to us. */
export const executionCloud = {
  'run of a handler of the hosted worker': usage([6, 7, 5], 2, 2),
  'the same with an idempotency key': usage([6, 8, 6], 2, 2),
  'run of a worker that the queue calls': usage([7, 9, 5], 4, 4),
  'more for a retry: failed, due, delivered again': usage([4, 5, 3], 2, 3),
  'more for an event: waited for, raised, delivered again, taken': usage([8, 8, 4], 4, 3),
  'more for a timer: waited for, due, delivered again, taken': usage([6, 6, 3], 3, 3),
  heartbeat: usage([2, 2, 1]),
  'end of a lease that was renewed: one more message': usage([1, 2, 0], 1, 2),
  'lease when no run is ready: one look of a waiting worker': usage([4, 4, 0]),
} as const;
