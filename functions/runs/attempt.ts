import { describeFailure } from '../kernel/log.ts';
import { asking, isDraining } from '../kernel/paid-calls.ts';
import type { RunOwner } from '../queue/port.ts';
import { giveBack } from './give-back.ts';
import { HandlerScope, isUnhandledRejection } from './handler-scope.ts';
import type { Held } from './held.ts';
import {
  cancelled,
  endedByHolder,
  failed,
  failureOf,
  type HandlerOutcome,
  isLeaseRefusal,
  isPassing,
  succeeded,
  thrown,
  unhandled,
} from './outcome.ts';
import { isGivenBack, isRunFailure, isSuspension, type PluginHandler } from './plugin.ts';
import { loadValues } from './read-runs.ts';
import { type RepeatBounds, repeatWhileLeased } from './repeat.ts';
import type { Run, StoredValue } from './run.ts';
import { createRunContext } from './run-context.ts';
import type { Runtime } from './runtime.ts';
import { complete } from './work.ts';

/** One execution of a handler in this process. */
export interface HandlerExecution {
  readonly held: Held;
  /** The owner whose share of the slots the attempt uses. */
  readonly owner: RunOwner;
  readonly abort: AbortController;
  expiresAt: number;
  /** When its cancellation was requested, or its grace ends. The engine abandons a handler that ignores it for the length of a lease. */
  cancelledAt: number | null;
  /** The lease is lost or the engine has abandoned the handler: it uses no slot, and nothing it still does counts. */
  isOver: boolean;
  readonly ended: (done: boolean) => void;
}

export interface AttemptParts {
  readonly runtime: Runtime;
  readonly handler: PluginHandler | undefined;
  /** How long the handler may ignore the abort of its signal after it has failed. */
  readonly graceMs: number;
  /** Called when a call of the handler shows that the lease is lost. */
  readonly leaseLost: () => void;
  /** Whether the process drains: then a job starts no further call of a provider. */
  readonly drains: () => boolean;
}

/** Executes the handler and completes the run. Returns whether the run was completed or parked. */
export async function attemptRun(
  parts: AttemptParts,
  run: Run,
  execution: HandlerExecution,
): Promise<boolean> {
  const { runtime } = parts;
  try {
    const outcome = await execute(parts, run, execution);
    if (outcome === null || outcome === 'parked') return outcome !== null;
    if (outcome === 'drained') {
      await giveBack(runtime, execution.held);
      return false;
    }
    await pauseJob(runtime, run);
    await completeAttempt(runtime, execution, outcome);
    return true;
  } catch (error) {
    runtime.saw?.(error);
    // The lease was lost or the store failed: the next holder, or the lease's expiry, continues the run.
    runtime.log({
      severity: isLeaseRefusal(error) ? 'WARNING' : 'ERROR',
      message: 'An attempt could not be completed',
      runId: run.id,
      failure: describeFailure(error),
    });
    return false;
  }
}

/** Completing twice is safe, and a repeat spares the handler another execution. */
async function completeAttempt(
  runtime: Runtime,
  execution: HandlerExecution,
  outcome: HandlerOutcome,
): Promise<void> {
  const { world } = runtime;
  await repeatWhileLeased(world, boundsOf(execution), () =>
    complete(runtime, execution.held, outcome, world.clock.now()),
  );
}

function boundsOf(execution: HandlerExecution): RepeatBounds {
  return { until: () => execution.expiresAt, isOver: () => execution.isOver };
}

/** Returns `null` if the handler was interrupted and another attempt continues. */
async function execute(
  { runtime, handler, graceMs, leaseLost, drains }: AttemptParts,
  run: Run,
  execution: HandlerExecution,
): Promise<HandlerOutcome | 'parked' | 'drained' | null> {
  const { held, abort } = execution;
  if (handler === undefined) return failed('handler_missing', 'No handler is registered under this id');
  try {
    const [payload = null, result = null] = await loadValues(runtime, valuesOf(run));
    const refused = (error: unknown) => {
      // A handler may make a call that it does not await: the call can fail after the run has ended.
      if (isLeaseRefusal(error) && !endedByHolder(error)) leaseLost();
    };
    const context = createRunContext(runtime, {
      run,
      payload,
      result,
      held,
      signal: abort.signal,
      bounds: boundsOf(execution),
      refused,
    });
    const scope = new HandlerScope(run, runtime, abort, graceMs);
    const work = () => handler.run(context);
    const returned = (await scope.call(run.job === undefined ? work : () => asking(drains, work))) ?? null;
    await pauseJob(runtime, run);
    return execution.isOver ? null : succeeded(returned, runtime.options.resultBytesMax);
  } catch (error) {
    return outcomeOfError(runtime, execution, error);
  }
}

/** Jobs do not read the result that an earlier attempt reported. */
function valuesOf({ job, payload, result }: Run): readonly StoredValue[] {
  return job === undefined ? [payload, result] : [payload];
}

/** The results of jobs may be large, and many may end at once: one is written as text in a turn of the event loop. */
async function pauseJob({ world }: Runtime, { job }: Run): Promise<void> {
  if (job !== undefined) await world.turns.pause(job.space);
}

function outcomeOfError(
  runtime: Runtime,
  { held, isOver, cancelledAt, abort }: HandlerExecution,
  error: unknown,
): HandlerOutcome | 'parked' | 'drained' | null {
  runtime.saw?.(error);
  if (isSuspension(error)) return 'parked';
  if (isOver) return null;
  if (isDraining(error) || isGivenBack(error)) return 'drained';
  if (isUnhandledRejection(error) && cancelledAt === null)
    return unhandled(error.reason, runtime.options.showsHandlerErrors);
  // The store failed for a moment, not the run: it is executed again when its lease is over.
  if (isPassing(error)) throw error;
  if (isRunFailure(error)) return failureOf(error);
  if (cancelledAt !== null) return cancelled();
  // The process stops or has lost the run. No caller has cancelled it.
  if (abort.signal.aborted) return null;
  const failure = describeFailure(error);
  runtime.log({ severity: 'WARNING', message: 'A handler failed', runId: held.runId, failure });
  return thrown(error, runtime.options.showsHandlerErrors);
}
