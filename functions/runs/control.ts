import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { changeRun } from './change-run.ts';
import { missingRun } from './held.ts';
import { cancelRun } from './rules/cancel.ts';
import { settleRun } from './rules/due.ts';
import { momentIn } from './rules/moment.ts';
import { raiseInRun } from './rules/wait.ts';
import { type Change, type InboxEvent, isBeingCancelled, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { preparedEvent, valueKeys, valueWrites } from './values.ts';

/** Throws if the caller may not change this run. */
export type RunGuard = (run: Run) => void;

export async function cancel(runtime: Runtime, runId: string, guard: RunGuard, now: number): Promise<Run> {
  const { run } = await changeRun(runtime, { runId, now, mayEnd: true }, (before, _, at) => {
    if (before === undefined) throw missingRun();
    guard(before);
    return { change: afterTime(runtime, before, at, (due) => cancelRun(due, at)), result: null };
  });
  if (run === undefined) throw missingRun();
  if (run.status === 'running' && isBeingCancelled(run)) runtime.signalCancellation?.(run.id);
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
    const change = afterTime(runtime, before, at, (run) =>
      raiseInRun(run, raised, limits.executionPendingEventsMax),
    );
    return { change, writes: valueWrites(prepared.value), result: raised };
  });
  return result;
}

/** Settles the run before the rule, so that a deadline and an event of the same time have one order. */
function afterTime(
  runtime: Runtime,
  run: Run,
  now: number,
  rule: (run: Run) => Change | null,
): Change | null {
  const settled = settleRun(run, now, runtime.options);
  if (settled === null) return rule(run);
  const change = rule(settled.run);
  return change === null ? settled : { run: change.run, events: [...settled.events, ...change.events] };
}
