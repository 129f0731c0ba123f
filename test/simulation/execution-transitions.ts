import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { laneOf } from '../../functions/runs/records.ts';
import type { InboxEvent, Run } from '../../functions/runs/run.ts';
import type { ExecutionCall } from './execution-calls.ts';
import { EXTERNAL, LEASE_EXPIRATIONS_MAX } from './execution-instance.ts';
import { checkReplaced } from './execution-start-key-ledger.ts';
import { must } from './violation.ts';

/** The writer of a change: an instance, and the latest time of its clock. */
export interface Writer {
  readonly instance: string;
  /** Under which its process leases runs. */
  readonly workerId: string;
  readonly clock: { readonly latest: number };
}

export interface RunChange {
  readonly before: Run | undefined;
  readonly after: Run;
  readonly call: ExecutionCall | undefined;
  readonly writer: Writer;
}

const TERMINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'rejected', 'timed_out']);

export function isOver(run: Run): boolean {
  return TERMINAL.has(run.status);
}

/** The allowed successors of each status, written down apart from the rules that it checks. */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  // A schedule whose time came, a lease that ran out and the next lease may be one write.
  queued: ['queued', 'running', 'cancelled'],
  running: ['running', 'queued', 'waiting', 'succeeded', 'failed', 'cancelled', 'rejected', 'timed_out'],
  waiting: ['waiting', 'queued', 'running', 'cancelled'],
};

/** Throws where the rules of runs do not allow the change to any caller. */
export function checkTransition(change: RunChange): void {
  const { before, after } = change;
  checkShape(after);
  if (before === undefined) {
    const begun = ['queued', 'waiting', 'rejected', 'running'].includes(after.status);
    must(
      begun && after.attempt === (after.status === 'running' ? 1 : 0),
      'I8 run',
      'it begins in its middle',
    );
    return;
  }
  const about = `${after.id} from ${before.status} to ${after.status}`;
  if (isOver(before)) return checkFrozen(before, after, about);
  must(FOLLOWS[before.status]?.includes(after.status) === true, 'I8 run', `${about} does not follow`);
  checkReplaced(before, after, about);
  must(after.updatedAt >= before.updatedAt, 'I8 run', `${about} goes back in time`);
  const leased = after.lease !== null && after.lease.tokenHash !== before.lease?.tokenHash;
  must(after.attempt - before.attempt === (leased ? 1 : 0), 'I8 run', `${about} miscounts its leases`);
  const failed = after.failures - before.failures;
  must(failed === 0 || failed === 1, 'I8 run', `${about} miscounts its failures`);
  const expired = after.leaseExpirations - before.leaseExpirations;
  const forgets = after.leaseExpirations === 0 && madeProgress(change.call, before);
  must(
    expired === 0 || forgets || (expired === 1 && before.status === 'running'),
    'I8 run',
    `${about} miscounts expiries`,
  );
  if (before.status === 'running') checkHeld(change, expired === 1, leased, about);
  if (before.status === 'waiting') checkWaiting(change, about);
  if (before.status === 'queued') {
    must(after.status !== 'cancelled' || change.call?.operation === 'cancelExecutionRun', 'I8 run', about);
    must(after.cancellationRequested === isOver(after), 'I8 run', `${about} was to be cancelled`);
  }
}

/** A checkpoint and a wait reset the count of expiries. */
function madeProgress(call: ExecutionCall | undefined, { lease }: Run): boolean {
  const operations = ['putExternalExecutionLeaseCheckpoint', 'waitExternalExecutionLease'];
  return lease?.kind === 'process' || operations.includes(call?.operation ?? '');
}

function checkShape(run: Run): void {
  const about = `${run.id} as ${run.status}`;
  must(
    (run.status === 'running') === (run.lease !== null),
    'I7 lease',
    `${about}: held and not running, or not`,
  );
  must(run.wait === null || run.status === 'waiting', 'I8 run', `${about} with a wait`);
  must((run.completedAt !== null) === isOver(run), 'I8 run', `${about} with the end of another status`);
  must(!run.counted || !isOver(run), 'admission', `${about} still counts`);
  must(run.failures <= run.retryPolicy.maxAttempts, 'I8 run', `${about} failed too often`);
  must(run.leaseExpirations <= LEASE_EXPIRATIONS_MAX, 'I8 run', `${about} lost too many leases`);
  if (run.leaseExpirations >= LEASE_EXPIRATIONS_MAX)
    must(isOver(run), 'I8 run', `${about} goes on without end`);
}

/** Events may still be raised into a run that is over, and its trace may move; nothing else. */
function checkFrozen(before: Run, after: Run, about: string): void {
  const still = (run: Run) => {
    const {
      inbox: _,
      trace: _t,
      traced: _n,
      traceDropped: _d,
      lastSequenceId: _l,
      updatedAt: _u,
      ...rest
    } = run;
    return JSON.stringify(rest);
  };
  must(still(before) === still(after), 'I8 run', `${about} changed after its end`);
}

function checkHeld(change: RunChange, expired: boolean, leased: boolean, about: string): void {
  const { before, after, call, writer } = change as RunChange & { before: Run };
  const { lease } = before;
  if (lease === null) return;
  if (expired) {
    const over = Math.max(writer.clock.latest, call?.now ?? 0) >= lease.expiresAt;
    must(over, 'I7 lease', `${about} lost a lease that has not run out`);
    const ending = before.cancellationRequested
      ? 'cancelled'
      : after.leaseExpirations >= LEASE_EXPIRATIONS_MAX
        ? 'failed'
        : null;
    const cancelled = call?.operation === 'cancelExecutionRun' && after.status === 'cancelled';
    if (ending === null) must(['queued', 'running'].includes(after.status) || cancelled, 'I8 run', about);
    else must(after.status === ending, 'I8 run', `${about} and not to ${ending}`);
    must(after.failures === before.failures, 'I8 run', `${about} pays for an expiry with a retry`);
    return;
  }
  must(!leased, 'I7 lease', `${about} was leased over a lease`);
  if (!isHoldersWrite(before, after)) return;
  if (lease.kind === 'process') {
    must(
      lease.workerId === writer.workerId,
      'I7 lease',
      `${about} by ${writer.workerId} of ${lease.workerId}`,
    );
  } else {
    const { leaseToken = '', workerId = '' } = (call?.body ?? {}) as {
      leaseToken?: string;
      workerId?: string;
    };
    const proven = sha256(leaseToken) === lease.tokenHash && workerId === lease.workerId;
    must(proven, 'I7 lease', `${about} by another than its holder`);
    must((call?.now ?? 0) < lease.expiresAt, 'I7 lease', `${about} by a lease that had run out`);
  }
  checkEnd(before, after, call, about);
}

/** Whether the write changes members that only the holder may change. */
function isHoldersWrite(before: Run, after: Run): boolean {
  const own = ({ status, failures, progress, currentStep, result, statusDetails, lease, outcomes }: Run) =>
    JSON.stringify([status, failures, progress, currentStep, result, statusDetails, lease, outcomes]);
  return own(before) !== own(after);
}

function checkEnd(before: Run, after: Run, call: ExecutionCall | undefined, about: string): void {
  if (after.status === 'running') return;
  if (before.cancellationRequested) {
    const right = after.status === 'cancelled' || after.status === 'timed_out';
    must(right, 'I8 run', `${about} although it was to be cancelled`);
  }
  if (after.status === 'waiting' && after.wait === null) {
    const { failureClass, failures, retryPolicy } = after;
    const mayRetry = failures < retryPolicy.maxAttempts && failureClass !== 'validation';
    must(mayRetry && failures === before.failures + 1, 'I8 run', `${about} is tried again`);
    must((after.scheduledAt ?? 0) > (call?.now ?? 0), 'I8 run', `${about} is tried again at once`);
  }
  if (after.status === 'failed') {
    const { failureClass, failures, retryPolicy } = after;
    const spent = failures >= retryPolicy.maxAttempts || failureClass === 'validation';
    must(spent, 'I8 run', `${about} has tries left`);
  }
}

function checkWaiting(change: RunChange, about: string): void {
  const { before, after, call, writer } = change as RunChange & { before: Run };
  const { wait } = before;
  const now = Math.max(writer.clock.latest, call?.now ?? 0);
  if (after.status === 'waiting') {
    must(JSON.stringify(after.wait) === JSON.stringify(wait), 'I8 run', `${about} waits for something else`);
    return;
  }
  if (after.status === 'cancelled') {
    must(call?.operation === 'cancelExecutionRun', 'I8 run', `${about} without a call that cancels`);
    return;
  }
  const dueAt = wait === null ? (before.scheduledAt ?? 0) : wait.dueAt;
  const outcome = wait === null ? undefined : after.outcomes.at(-1);
  if (outcome?.outcome === 'external_event') {
    const inTime = dueAt === null || call === undefined || call.now < dueAt;
    must(inTime, 'I9 event once', `${about} by an event that came after the deadline`);
    must(outcome.event?.name === wait?.name, 'I9 event once', `${about} by an event of another name`);
    return;
  }
  must(dueAt !== null && dueAt <= now, 'I8 run', `${about} before its time`);
  if (wait === null) return;
  const expected = wait.kind === 'timer' ? 'timer' : 'timed_out';
  must(outcome?.outcome === expected, 'I9 event once', `${about} with the outcome ${outcome?.outcome}`);
}

/** The place of each event raised into a run: it goes from the inbox to a wait, and on to the run that waits, each once. */
export class EventLedger {
  readonly #places = new Map<string, 'inbox' | 'kept' | 'delivered' | 'ended'>();
  readonly #delivered = new Set<string>();

  has(eventId: string): boolean {
    return this.#places.has(eventId);
  }

  isDelivered(eventId: string): boolean {
    return this.#delivered.has(eventId);
  }

  check({ before, after }: RunChange): void {
    const [had, has] = [placesIn(before), placesIn(after)];
    for (const [id, place] of has) {
      const last = this.#places.get(id);
      const goesOn =
        last === undefined ||
        last === place ||
        (place === 'kept' && (last === 'inbox' || isGivenBack(id, before, after)));
      must(goesOn, 'I9 event once', `${id} went from ${last} to ${place}`);
      this.#places.set(id, place);
    }
    const gone = [...had.keys()].filter((id) => !has.has(id));
    if (gone.length === 0 || before === undefined) return;
    must(gone.length === 1 || isOver(after), 'I9 event once', `${gone.join()} are gone at once`);
    for (const id of gone) {
      const ended = isOver(after) && had.get(id) === 'kept';
      must(ended || after.status === 'running', 'I9 event once', `${id} is gone, and no wait received it`);
      if (had.get(id) === 'inbox') mustBeOldest(before.inbox, id);
      this.#places.set(id, ended ? 'ended' : 'delivered');
      if (!ended) this.#delivered.add(id);
    }
  }
}

/** An outcome that the holder received without writing a checkpoint after it is there again once its lease is lost or its attempt failed. */
function isGivenBack(id: string, before: Run | undefined, after: Run): boolean {
  if (before?.taken?.event?.id !== id || before.lease === null || isOver(after)) return false;
  return after.lease === null || after.attempt > before.attempt;
}

function placesIn(run: Run | undefined): Map<string, 'inbox' | 'kept'> {
  const places = new Map<string, 'inbox' | 'kept'>();
  for (const { id } of run?.inbox ?? []) places.set(id, 'inbox');
  for (const { event } of run?.outcomes ?? []) {
    if (event === null) continue;
    must(!places.has(event.id), 'I9 event once', `${event.id} is in two places`);
    places.set(event.id, 'kept');
  }
  return places;
}

function mustBeOldest(inbox: readonly InboxEvent[], id: string): void {
  const event = inbox.find((each) => each.id === id);
  const older = inbox.some(
    (each) => each.name === event?.name && `${each.raisedAt} ${each.id}` < `${event.raisedAt} ${id}`,
  );
  must(!older, 'I9 event once', `${id} was consumed before an older one`);
}

/** Checks that a holder, an event, a due time or the queue will continue the run. */
export function checkLookedAfter(run: Run, due: number | null, lane: string | undefined): void {
  if (isOver(run)) {
    must(due === null && lane === undefined, 'I10 looked after', `${run.id} is over, and looked after`);
    return;
  }
  const queued = run.status === 'queued' && lane === laneOf(run);
  const waits = run.status === 'waiting' && run.wait?.kind === 'external_event' && run.wait.dueAt === null;
  must(due !== null || queued || waits, 'I10 looked after', `${run.id} is ${run.status}, and nothing is due`);
  must(run.status === 'queued' || lane === undefined, 'I10 looked after', `${run.id} is in a lane`);
}

export function isExternal(handlerId: string): boolean {
  return EXTERNAL.some((each) => each === handlerId);
}
