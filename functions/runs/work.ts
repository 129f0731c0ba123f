import type { Json } from '../kernel/canonical-json.ts';
import { cascadeAfter } from './cascade.ts';
import { changeRun } from './change-run.ts';
import { type Held, present } from './held.ts';
import { answerTo, type WriteName, withAnswer } from './rules/answered.ts';
import { type Completion, completeRun } from './rules/complete.ts';
import { decideRun } from './rules/decide.ts';
import { activeLease, renewLease } from './rules/lease.ts';
import { releaseRun } from './rules/release.ts';
import { type Report, reportProgress } from './rules/report.ts';
import { type WaitRequest, waitInRun } from './rules/wait.ts';
import type { Run, RunTraceDraft, WaitOutcome } from './run.ts';
import type { Runtime } from './runtime.ts';
import {
  EVENT_INLINE_BYTES_MAX,
  type NewValue,
  preparedResult,
  storedValue,
  valueKeys,
  valueWrites,
} from './values.ts';

/** The largest payload of a wait on a full disk, and for an owner whose quota is used up. */
export const SMALL_WAIT_BYTES = 1_024;

export async function heartbeat(runtime: Runtime, held: Held, ttlMs: number, now: number): Promise<Run> {
  const { run } = await changeRun(runtime, { runId: held.runId, now, frees: true }, (before, _, at) => ({
    change: { run: renewLease(present(before), held, ttlMs, at), events: [] },
    leaseOnly: true,
    result: null,
  }));
  return present(run);
}

export async function report(
  runtime: Runtime,
  held: Held,
  { result, ...rest }: Omit<Report, 'result'> & { readonly result?: NewValue },
  now: number,
): Promise<Run> {
  const value = preparedResult(runtime, held.runId, result);
  const full: Report = value === null ? rest : { ...rest, result: value.value };
  // Results of reports replace each other, so the record may exist. A completion usually brings the first result.
  const request = { runId: held.runId, now, mayMoveTrace: true, keys: valueKeys(value, false) };
  const { run } = await changeRun(runtime, request, (before, _, at) => ({
    change: reportProgress(before, held, full, at),
    writes: valueWrites(value),
    result: null,
  }));
  return present(run);
}

/** Answers whether the holder may go on: `false` where the run's cancellation was requested before. */
export async function decide(runtime: Runtime, held: Held, now: number): Promise<boolean> {
  const { run } = await changeRun(runtime, { runId: held.runId, now, frees: true }, (before, _, at) => ({
    change: decideRun(before, held, at),
    result: null,
  }));
  return present(run).decided === true;
}

export async function recordEvent(
  runtime: Runtime,
  held: Held,
  event: RunTraceDraft,
  now: number,
  write: WriteName | null = null,
): Promise<void> {
  const request = { runId: held.runId, now, mayMoveTrace: true, grows: true };
  await changeRun(runtime, request, (before, _, at) => {
    const { workerId } = activeLease(before, held, at);
    const run = present(before);
    if (answerTo(run, write) !== null) return { change: null, result: null };
    const events = [{ ...event, workerId, byWorker: true }];
    return { change: { run: withAnswer(run, write, { at }), events }, result: null };
  });
}

export async function complete(
  runtime: Runtime,
  held: Held,
  { result, ...rest }: Omit<Completion, 'result'> & { readonly result?: NewValue },
  now: number,
): Promise<Run> {
  const value = preparedResult(runtime, held.runId, result);
  const full: Completion = value === null ? rest : { ...rest, result: value.value };
  const { run, cascades } = await changeRun(
    runtime,
    { runId: held.runId, now, mayEnd: true, keys: valueKeys(value) },
    (before, _, at) => ({
      change: completeRun(before, held, full, at),
      writes: valueWrites(value),
      result: null,
    }),
  );
  if (cascades === true) await cascadeAfter(runtime, held.runId, now);
  return present(run);
}

/** Gives the run back: it is queued again, and its lease does not count as expired. */
export async function release(runtime: Runtime, held: Held, now: number): Promise<Run> {
  // A release ends a run with a requested cancellation, and a full disk must not keep a run from other workers.
  const { run } = await changeRun(runtime, { runId: held.runId, now, mayEnd: true }, (before, _, at) => ({
    change: releaseRun(before, held, at),
    result: null,
  }));
  return present(run);
}

export interface Waited {
  readonly run: Run;
  /** `null`: the run waits and its lease has ended. */
  readonly outcome: WaitOutcome | null;
}

export async function wait(
  runtime: Runtime,
  held: Held,
  { payload, bytes, ...request }: Omit<WaitRequest, 'timerId' | 'payload'> & NewPayload,
  now: number,
): Promise<Waited> {
  const timerId = runtime.ids.next();
  const inline = { inlineBytesMax: EVENT_INLINE_BYTES_MAX };
  const value = storedValue(held.runId, `timer:${timerId}`, { json: payload, bytes }, inline);
  const full: WaitRequest = { ...request, timerId, payload: value.value };
  const isSmall = bytes <= SMALL_WAIT_BYTES;
  const { run, result } = await changeRun(
    runtime,
    { runId: held.runId, now, keys: valueKeys(value), frees: isSmall, grows: !isSmall },
    (before, _, at) => {
      const { outcome, isRepeat = false, ...change } = waitInRun(before, held, full, at);
      if (isRepeat) return { change: null, result: outcome };
      // Write the payload only for this wait: an earlier outcome has its own.
      const isKept = change.run.wait?.timerId === timerId || outcome?.timer?.id === timerId;
      return { change, writes: isKept ? valueWrites(value) : [], result: outcome };
    },
  );
  return { run: present(run), outcome: result };
}

/** The payload of a wait for a timer. */
interface NewPayload {
  readonly payload: Json;
  readonly bytes: number;
}
