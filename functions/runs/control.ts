import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { cascadeAfter } from './cascade.ts';
import { changeRun } from './change-run.ts';
import { missingRun } from './held.ts';
import { afterTime } from './rules/after-time.ts';
import { cancelRun } from './rules/cancel.ts';
import { momentIn } from './rules/moment.ts';
import { raiseInRun } from './rules/wait.ts';
import { type InboxEvent, isBeingCancelled, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { preparedEvent, valueKeys, valueWrites } from './values.ts';

/** Throws if the caller may not change this run. */
export type RunGuard = (run: Run) => void;

export async function cancel(runtime: Runtime, runId: string, guard: RunGuard, now: number): Promise<Run> {
  const { run, cascades } = await changeRun(runtime, { runId, now, mayEnd: true }, (before, _, at) => {
    if (before === undefined) throw missingRun();
    guard(before);
    return { change: afterTime(before, at, runtime.options, (due) => cancelRun(due, at)), result: null };
  });
  if (run === undefined) throw missingRun();
  if (run.status === 'running' && isBeingCancelled(run)) runtime.signalCancellation?.(run.id);
  if (cascades === true) await cascadeAfter(runtime, runId, now);
  return run;
}

export async function raise(
  runtime: Runtime,
  runId: string,
  event: { readonly name: string; readonly payload: Json; readonly bytes: number },
  guard: RunGuard,
  now: number,
): Promise<InboxEvent> {
  const prepared = preparedEvent(runtime, runId, event, now);
  const keys = valueKeys(prepared.value);
  const request = { runId, now, mayMoveTrace: true, grows: true, keys };
  const { result } = await changeRun(runtime, request, (before, _, at) => {
    if (before === undefined) throw missingRun();
    guard(before);
    const raised = { ...prepared.event, raisedAt: momentIn(before, at) };
    const change = afterTime(before, at, runtime.options, (run) =>
      raiseInRun(run, raised, limits.executionPendingEventsMax),
    );
    return { change, writes: valueWrites(prepared.value), result: raised };
  });
  return result;
}
