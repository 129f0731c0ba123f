import { describeFailure } from '../kernel/log.ts';
import { concurrencyKeyOf } from './concurrency-key.ts';
import { offerStartKey } from './offer-start-key.ts';
import { dueOf, startSlotOf } from './records.ts';
import { isTerminal, type Run } from './run.ts';
import { messageOf } from './run-job.ts';
import type { Runtime } from './runtime.ts';

/** Messages to the queue about durable changes of runs. A lost message only costs time: the store still has the run. */

/** Runs a step that follows a durable write. Its failure is logged, because the caller's change has succeeded. */
export async function afterWrite(
  { log }: Runtime,
  message: string,
  act: () => Promise<void>,
): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return false;
  }
}

/** Notifies the queue of the run's new state; `false` if the queue did not accept the message. */
export function announceChange(
  runtime: Runtime,
  before: Run | undefined,
  run: Run,
  now: number,
): Promise<boolean> {
  logFailure(runtime, before, run);
  return afterWrite(runtime, 'The queue could not be notified of a change of a run', async () => {
    if (isTerminal(run.status)) runtime.watch.notify(run);
    if (isTerminal(run.status) || run.status === 'queued') runtime.queuedWatch.notify(run);
    try {
      await notifyQueue(runtime, before, run, now);
    } finally {
      await notifyRivals(runtime, before, run, now);
    }
  });
}

/** An alert counts these lines: docs/infrastructure.md. A refused start is its caller's affair. */
function logFailure({ log }: Runtime, before: Run | undefined, run: Run): void {
  const { id: runId, status, handlerId, failureClass } = run;
  if (before === undefined || isTerminal(before.status)) return;
  if (status === 'failed' || status === 'timed_out')
    log({
      severity: 'WARNING',
      message: 'A run failed',
      runId,
      handlerId,
      ...(failureClass === null ? {} : { failureClass }),
    });
}

async function notifyQueue(
  { queue }: Runtime,
  before: Run | undefined,
  run: Run,
  now: number,
): Promise<void> {
  const message = messageOf(run);
  if (run.status === 'queued' && run.waitsForKey === true) {
    queue.forget?.(run.id);
  } else if (run.status === 'queued' && before?.status !== 'queued') {
    const reason = before?.status === 'waiting' && before.wait !== null ? 'external_event' : 'run_ready';
    await queue.enqueue({ ...message, reason, notBefore: now });
  } else if (run.status === 'running' && run.lease !== null) {
    // The delivery stays open while our process executes the run. If it breaks off, its redelivery reports the lease's end.
    if (queue.delivers === true && run.lease.kind === 'process') return;
    const renewed = before?.lease?.tokenHash === run.lease.tokenHash;
    await queue.enqueue({ ...message, reason: 'lease_expired', notBefore: run.lease.expiresAt, renewed });
  } else if (run.status === 'waiting') {
    const dueAt = run.wait === null ? run.scheduledAt : run.wait.dueAt;
    if (dueAt !== null) await queue.enqueue({ ...message, reason: 'timer_due', notBefore: dueAt });
    else queue.forget?.(run.id);
  } else if (isTerminal(run.status)) queue.forget?.(run.id);
}

/** Notifies the queue of the runs that wait for this run's concurrency key. */
async function notifyRivals(runtime: Runtime, before: Run | undefined, run: Run, now: number): Promise<void> {
  const startSlot = run.startKey === undefined ? null : startSlotOf(run);
  if (before?.status === 'running' && run.status !== 'running' && before.concurrencyKey !== null) {
    const { concurrencyKey } = before;
    if (concurrencyKey === startSlot)
      return offerStartKey(runtime, { name: startSlot, handlerId: run.handlerId }, now);
    await offerConcurrencyKey(runtime, run, concurrencyKey, `${before.id} ${before.attempt}`, now);
  } else if (before?.status === 'queued' && isTerminal(run.status)) {
    // The free key may have been offered to this run only.
    const concurrencyKey = concurrencyKeyOf(runtime.registry, run);
    if (concurrencyKey !== null)
      await offerConcurrencyKey(runtime, run, concurrencyKey, `${run.id} ended`, now);
    else if (startSlot !== null)
      await offerStartKey(runtime, { name: startSlot, handlerId: run.handlerId }, now);
  }
}

/** Announces the oldest waiting run of each handler that shares the free key: not every handler has a worker. */
async function offerConcurrencyKey(
  runtime: Runtime,
  ended: Run,
  concurrencyKey: string,
  repeatKey: string,
  now: number,
): Promise<void> {
  const { registry } = runtime;
  // Handlers share the key of the handler; a job has it extended by its data, and only jobs on the same data wait for it.
  const shared = registry.get(ended.handlerId)?.concurrencyKey ?? concurrencyKey;
  const handlerIds = registry.sharing(ended.job === undefined ? concurrencyKey : shared);
  const waits = (run: Run) => ended.job === undefined || concurrencyKeyOf(registry, run) === concurrencyKey;
  let heads: readonly Run[][];
  try {
    heads = await Promise.all(handlerIds.map((handlerId) => runtime.queuedRuns.find(handlerId, 1, waits)));
  } catch (error) {
    // The run that has the key next stays unknown: the next call that asks for a run searches the store.
    for (const handlerId of handlerIds) runtime.ready?.hint(handlerId);
    throw error;
  }
  for (const head of heads.flat().sort((a, b) => (a.id < b.id ? -1 : 1))) {
    await runtime.queue.enqueue({ ...messageOf(head), reason: 'run_ready', notBefore: now, repeatKey });
  }
}

/** A requeued message is at least this much later: the clocks of queue and process may differ. */
const REQUEUE_DELAY_MS = 1_000;

/**
 * Requeues a message that was delivered before the run was due: the queue limits how far ahead it schedules, and a renewed
 * lease ends later. If requeueing fails, maintenance finds the run once it is due.
 */
export async function requeueEarlyDelivery(runtime: Runtime, run: Run, now: number): Promise<void> {
  const { queue } = runtime;
  const dueAt = dueOf(run);
  if (queue.delivers !== true || dueAt === null) return;
  const { id: runId, handlerId, attempt } = run;
  const reason = run.status === 'running' ? 'lease_expired' : 'timer_due';
  const notBefore = Math.max(dueAt, now + REQUEUE_DELAY_MS);
  // Deliveries that are early by a similar time share one successor; one that is closer to the due time gets its own, and so
  // does one for a later due time: a lease may be renewed for as long as it was granted.
  const repeatKey = `early ${dueAt} ${Math.ceil(Math.log2((notBefore - now) / REQUEUE_DELAY_MS))}`;
  await afterWrite(runtime, 'A message that was delivered too early could not be requeued', async () => {
    await queue.enqueue({ runId, handlerId, attempt, reason, notBefore, repeatKey });
  });
}
