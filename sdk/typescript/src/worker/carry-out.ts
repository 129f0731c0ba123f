import type { ExecutionRun, ExecutionRunResult } from '../generated/models.ts';
import type { Attempt } from './attempt.ts';
import { contextOf } from './context.ts';
import { WorkNotDoneError } from './errors.ts';
import { knowsSteps } from './newer-members.ts';
import type { NextRuns } from './next-runs.ts';
import type { WorkerSettings } from './options.ts';
import { cancelled, failed, failureFrom, isRunFailure, succeeded } from './outcome.ts';
import type { Renewals } from './renewals.ts';
import { isLost, isRefusedContent } from './repeat.ts';

/** How an attempt ended: the service has its result, or its run is parked on a wait. */
export type Carried = 'executed' | 'suspended';

export interface Carrying {
  readonly settings: WorkerSettings;
  readonly renewals: Renewals;
  readonly nextRuns: NextRuns;
}

/** Executes the run of a lease. If it `takesNext`, the completion asks for `attempt.next`. Throws if the service has no result: it leases the run again later. */
export async function carryOut(
  attempt: Attempt,
  { settings, renewals, nextRuns }: Carrying,
  takesNext: boolean,
): Promise<Carried> {
  const kept = await renewals.keep(attempt.proof, attempt.leftMs, attempt.listener);
  attempt.keptBy(kept);
  try {
    // The answer may have taken longer than the lease lasts.
    if (attempt.leftMs <= 0) {
      attempt.end('lease_lost');
      return await abandoned(attempt);
    }
    const result = await resultOf(attempt, settings);
    // A handler that blocked the event loop delays the news of a lost lease.
    await attempt.confirm();
    if (attempt.over !== null) return await abandoned(attempt);
    return await complete(attempt, attempt.isCancelled ? asCancelled(result) : result, {
      nextRuns,
      takesNext,
    });
  } finally {
    kept.drop();
  }
}

/** Executes the handler and returns the result, whether or not the lease still holds. */
async function resultOf(attempt: Attempt, settings: WorkerSettings): Promise<ExecutionRunResult> {
  const { run } = attempt.lease;
  const refusal = refusalOf(run, settings);
  if (refusal !== null) return refusal;
  const handler = settings.handlers.get(run.handlerId);
  if (handler === undefined) return failed('handler_missing', 'The worker has no such handler');
  // A run that is leased after its cancellation was requested is leased for its handler to undo its work.
  if (attempt.isCancelled && !(run.cancellationRequested && knowsSteps(attempt.lease))) return cancelled();
  try {
    attempt.log('debug', 'the run begins');
    return succeeded(await handler(contextOf(attempt, settings.client, settings.connection.world)));
  } catch (error) {
    if (attempt.over === null && !attempt.isCancelled && !isRunFailure(error))
      attempt.log('error', 'the handler failed', error);
    // A server of release 0.5.0 does not send the member.
    const showsText: unknown = attempt.lease.showsHandlerErrors;
    return failureFrom(error, { showsText: showsText === true, knowsRetryable: knowsSteps(attempt.lease) });
  }
}

function refusalOf(run: ExecutionRun, { pluginId }: WorkerSettings): ExecutionRunResult | null {
  if (pluginId === null || run.pluginId === pluginId) return null;
  return failed('plugin_mismatch', 'The run is of another plugin than the handlers of its worker');
}

/** The result of a cancelled run. A timeout that the handler reported stays a timeout. */
function asCancelled(result: ExecutionRunResult): ExecutionRunResult {
  if (result.status === 'timed_out') return result;
  return cancelled(result.status === 'succeeded' ? (result.result ?? undefined) : undefined);
}

async function abandoned(attempt: Attempt): Promise<Carried> {
  if (attempt.over?.kind === 'suspended') {
    attempt.log('debug', 'the run waits');
    return 'suspended';
  }
  await attempt.giveBack();
  throw new WorkNotDoneError('The run was not completed.', { cause: attempt.over });
}

/**
 * Sends the result until the service confirms it; with the same token a second completion changes nothing. If the service
 * refuses the content of the result, the run fails with `validation` instead.
 */
async function complete(
  attempt: Attempt,
  result: ExecutionRunResult,
  { nextRuns, takesNext }: Pick<Carrying, 'nextRuns'> & { readonly takesNext: boolean },
): Promise<Carried> {
  attempt.beginCompletion();
  const send = (its: ExecutionRunResult) => {
    let wish = takesNext ? nextRuns.wish() : null;
    return attempt.call(async (options) => {
      // A repeat asks for no run: each answer that is lost would block one until its lease ends.
      const leaseNext = wish;
      wish = null;
      attempt.next = await nextRuns.complete({ ...attempt.proof, result: its }, leaseNext, options);
    });
  };
  try {
    await send(result).catch((error: unknown) => {
      if (result.result === undefined || !isRefusedContent(error)) throw error;
      attempt.log('error', 'the service refused the result', error);
      return send(failed('validation', 'The result was refused'));
    });
  } catch (error) {
    const lost = isLost(error) || attempt.over !== null;
    attempt.log('warning', lost ? 'the lease is lost' : 'the run could not be completed', error);
    throw new WorkNotDoneError('The run was not completed.', { cause: error });
  }
  attempt.log('debug', 'the run was completed');
  return 'executed';
}
