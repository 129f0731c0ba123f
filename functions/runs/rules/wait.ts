import { ServiceError } from '../../kernel/errors.ts';
import {
  type Change,
  type EndedLease,
  type InboxEvent,
  NULL_VALUE,
  type Run,
  type RunWait,
  type StoredValue,
  type WaitIdentity,
  type WaitOutcome,
} from '../run.ts';
import { answerTo, sameWrite, type WriteName, withAnswer } from './answered.ts';
import { cancelledResult, ended, endedLease, progressed, resumed, waitIdentity } from './due.ts';
import { activeLease, isProofOf, type LeaseProof, mayHold } from './lease.ts';
import { momentIn } from './moment.ts';

export interface WaitRequest extends WaitIdentity {
  /** The time of the timer or the deadline of the event; `null` without one. */
  readonly dueAt: number | null;
  /** Only for a timer. */
  readonly payload: StoredValue;
  /** Ordered id for the timer, drawn before the transaction. */
  readonly timerId: string;
  /** Absent or `null`: the worker cannot repeat the wait. */
  readonly write?: WriteName | null;
}

export interface WaitChange extends Change {
  /** `null`: the run waits or was cancelled. Its lease has ended in both cases. */
  readonly outcome: WaitOutcome | null;
  /** The wait was answered before, and nothing changes. */
  readonly isRepeat?: true;
}

/**
 * A wait within an attempt. It takes a kept outcome of an earlier execution, else the oldest event of the name, else a
 * time that has passed; else it parks the run and ends the lease. Kind and name or names identify the wait, since a handler
 * that is executed again makes the same wait again. A repeat of a named wait gets the answer of the first call.
 */
export function waitInRun(
  run: Run | undefined,
  proof: LeaseProof,
  request: WaitRequest,
  now: number,
): WaitChange {
  const write = request.write ?? null;
  const before = repeatedWait(run, proof, write, now);
  if (before !== null) return before;
  const { outcome, ...change } = answered(run as Run, request, now);
  if (outcome === null) return { ...change, outcome };
  return { ...change, run: withAnswer(change.run, write, { at: now, outcome }), outcome };
}

/** The answer to a named wait that was made before; `null` for a new wait. Throws without an active lease. */
export function repeatedWait(
  run: Run | undefined,
  proof: LeaseProof,
  write: WriteName | null,
  now: number,
): WaitChange | null {
  const last = run?.endedLease ?? null;
  // The wait itself ended the lease, so its repeat has the proof of an ended lease.
  if (run !== undefined && run.lease === null && last?.wait !== undefined && last.wait.id === write?.id) {
    if (isProofOf(last, proof) && mayHold(run, proof)) {
      sameWrite(last.wait, write);
      return { run, events: [], outcome: null, isRepeat: true };
    }
  }
  activeLease(run, proof, now);
  const outcome = answerTo(run as Run, write)?.outcome;
  return outcome === undefined ? null : { run: run as Run, events: [], outcome, isRepeat: true };
}

function answered(held: Run, request: WaitRequest, now: number): WaitChange {
  const kept = keptOutcome(held, request);
  if (kept !== undefined) {
    const outcomes = held.outcomes.filter((outcome) => outcome !== kept);
    return { run: { ...held, outcomes, taken: kept }, events: [], outcome: kept };
  }
  const event = request.kind === 'external_event' ? oldestOf(held.inbox, request) : undefined;
  if (event !== undefined) {
    const outcome = metBy(request, event);
    const inbox = held.inbox.filter(({ id }) => id !== event.id);
    return { run: progressed({ ...held, inbox, taken: outcome }), events: [resumedEvent(outcome)], outcome };
  }
  if (request.dueAt !== null && request.dueAt <= now) {
    const outcome = passed(request, request.dueAt, now);
    return { run: { ...held, taken: outcome }, events: [resumedEvent(outcome)], outcome };
  }
  return { ...parked(held, request, now), outcome: null };
}

/**
 * The outcome of an earlier execution of the same wait. Otherwise an event that an earlier wait took is taken by any wait for
 * its name: changed code may wait for its event together with others than before.
 */
export function keptOutcome(held: Run, request: WaitIdentity): WaitOutcome | undefined {
  const same = held.outcomes.find((each) => isSameWait(each, request));
  if (same !== undefined || request.kind !== 'external_event') return same;
  return held.outcomes.find(({ event }) => event !== null && takes(request, event.name));
}

/** The outcome of a wait for several names has the name of its event, so only the names identify it. */
function isSameWait(left: WaitIdentity, right: WaitIdentity): boolean {
  if (left.kind !== right.kind || left.runId !== right.runId) return false;
  const { names } = left;
  if (names === undefined || right.names === undefined)
    return names === right.names && left.name === right.name;
  return names.length === right.names.length && names.every((name, at) => name === right.names?.[at]);
}

/** Whether the wait ends with an event of this name. */
function takes({ name, names }: WaitIdentity, eventName: string): boolean {
  return names === undefined ? name === eventName : names.includes(eventName);
}

function metBy(wait: WaitIdentity, event: InboxEvent): WaitOutcome {
  return { ...waitIdentity(wait), name: event.name, outcome: 'external_event', event, timer: null };
}

function oldestOf(inbox: readonly InboxEvent[], wait: WaitIdentity): InboxEvent | undefined {
  let oldest: InboxEvent | undefined;
  for (const event of inbox) {
    if (!takes(wait, event.name)) continue;
    if (oldest === undefined || isBefore(event, oldest)) oldest = event;
  }
  return oldest;
}

function isBefore(left: InboxEvent, right: InboxEvent): boolean {
  return left.raisedAt < right.raisedAt || (left.raisedAt === right.raisedAt && left.id < right.id);
}

function passed(request: WaitRequest, dueAt: number, now: number): WaitOutcome {
  if (request.kind !== 'timer') {
    return { ...waitIdentity(request), outcome: 'timed_out', event: null, timer: null };
  }
  const { name, timerId: id, payload } = request;
  const timer = { id, name, fireAt: dueAt, createdAt: now, payload };
  return { ...waitIdentity(request), outcome: 'timer', event: null, timer };
}

function resumedEvent({ kind, name, outcome }: WaitOutcome) {
  const type = outcome === 'timed_out' ? 'wait.timed_out' : 'wait.resumed';
  return { type, details: { kind, name, outcome } };
}

/**
 * Outcomes that a run keeps at most. Each stays until the handler asks for its wait again, and some handlers never
 * do.
 */
const OUTCOMES_MAX = 256;

function parked(run: Run, request: WaitRequest, now: number): Change {
  if (run.outcomes.length >= OUTCOMES_MAX) {
    const detail = `The run keeps the outcomes of ${OUTCOMES_MAX} waits that were never asked for again`;
    throw new ServiceError('limit_exceeded', detail);
  }
  const { kind, name, names, dueAt, payload, timerId } = request;
  const timed = kind === 'timer';
  const wait: RunWait = {
    ...waitIdentity(request),
    dueAt,
    registeredAt: momentIn(run, now),
    timerId: timed ? timerId : null,
    payload: timed ? payload : NULL_VALUE,
  };
  // A parked run with a requested cancellation would never continue.
  if (run.cancellationRequested) {
    return ended({ ...run, endedLease: endedByWait(run, 'cancelled', request) }, cancelledResult, now);
  }
  const next: Run = {
    ...progressed(run),
    status: 'waiting',
    scheduledAt: dueAt,
    currentStep: `waiting:${kind}:${names?.join(',') ?? name}`
      .slice(0, CURRENT_STEP_LENGTH_MAX)
      .toWellFormed(),
    lease: null,
    endedLease: endedByWait(run, 'suspended', request),
    wait,
    taken: null,
  };
  return { run: next, events: [{ type: 'wait.registered', details: { ...waitIdentity(request) } }] };
}

const CURRENT_STEP_LENGTH_MAX = 200;

function endedByWait(run: Run, how: 'suspended' | 'cancelled', { write }: WaitRequest): EndedLease | null {
  const last = endedLease(run, how);
  return last === null || write === null || write === undefined ? last : { ...last, wait: write };
}

/** Adds an event to the run. Throws `inbox_full` if the run has too many unconsumed events. */
export function raiseInRun(run: Run | undefined, event: InboxEvent, pendingMax: number): Change {
  if (run === undefined) throw new ServiceError('not_found', 'There is no such run');
  const raised = { type: 'external_event.raised', details: { name: event.name, eventId: event.id } };
  const { wait } = run;
  if (wait !== null && wait.kind === 'external_event' && takes(wait, event.name)) {
    const change = resumed(run, metBy(wait, event), 'wait.resumed');
    return { run: change.run, events: [raised, ...change.events] };
  }
  if (run.inbox.length >= pendingMax) {
    const detail = `The run holds ${run.inbox.length} of ${pendingMax} events that nothing has consumed yet`;
    throw new ServiceError('inbox_full', detail, { limit: pendingMax, used: run.inbox.length });
  }
  return { run: { ...run, inbox: [...run.inbox, event] }, events: [raised] };
}
