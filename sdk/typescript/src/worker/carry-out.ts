import { APIStatusError } from '../errors.ts';
import type { ExecutionRun, ExecutionRunResult } from '../generated/models.ts';
import { type Attempt, isLost } from './attempt.ts';
import { contextOf } from './context.ts';
import { RunFailure, WorkNotDoneError } from './errors.ts';
import type { WorkerSettings } from './options.ts';
import { cancelled, failed, failureFrom, succeeded } from './outcome.ts';
import type { Renewals } from './renewals.ts';

/** What came of a lease: the attempt was completed, or its run is parked on a wait. */
export type Carried = 'executed' | 'suspended';

/** Carries out the run of a lease. Throws where the service does not know how that ended: the run is leased again then. */
export async function carryOut(
  attempt: Attempt,
  settings: WorkerSettings,
  renewals: Renewals,
): Promise<Carried> {
  const kept = await renewals.keep(attempt.proof, attempt.leftMs, attempt.listener);
  attempt.keptBy(kept);
  try {
    // The answer with the lease may have been slower than the lease is long.
    if (attempt.leftMs <= 0) {
      attempt.end('lease_lost');
      return abandoned(attempt);
    }
    const result = await resultOf(attempt, settings);
    // Whoever blocked the event loop has not heard yet what became of the lease meanwhile.
    await attempt.confirm();
    if (attempt.over !== null) return abandoned(attempt);
    return await complete(attempt, settings, attempt.isCancelled ? asCancelled(result) : result);
  } finally {
    kept.drop();
  }
}

/** What the handler made of it, whatever became of the lease meanwhile. */
async function resultOf(attempt: Attempt, settings: WorkerSettings): Promise<ExecutionRunResult> {
  const { run } = attempt.lease;
  const refusal = refusalOf(run, settings);
  if (refusal !== null) return refusal;
  const handler = settings.handlers.get(run.handlerId);
  if (handler === undefined) return failed('handler_missing', 'The worker has no such handler');
  if (attempt.isCancelled) return cancelled();
  try {
    attempt.tell('debug', 'the run begins');
    return succeeded(await handler(contextOf(attempt, settings.client, settings.connection.world)));
  } catch (error) {
    if (attempt.over === null && !attempt.isCancelled && !(error instanceof RunFailure))
      attempt.tell('error', 'the handler failed', error);
    return failureFrom(error);
  }
}

function refusalOf(run: ExecutionRun, { pluginId }: WorkerSettings): ExecutionRunResult | null {
  if (pluginId === null || run.pluginId === pluginId) return null;
  return failed('plugin_mismatch', 'The run is of another plugin than the handlers of its worker');
}

/** A timeout that was reported stays one, whoever wanted the run cancelled meanwhile. */
function asCancelled(told: ExecutionRunResult): ExecutionRunResult {
  if (told.status === 'timed_out') return told;
  return cancelled(told.status === 'succeeded' ? (told.result ?? undefined) : undefined);
}

function abandoned(attempt: Attempt): Carried {
  if (attempt.over?.kind === 'suspended') {
    attempt.tell('debug', 'the run waits');
    return 'suspended';
  }
  throw new WorkNotDoneError('The run was not completed.', { cause: attempt.over });
}

/**
 * Says how the attempt ended until the service is known to have heard it: with the same token that changes nothing the second
 * time. What is sent stays the same, but where the service answers that it will not take the result: nothing was done then.
 */
async function complete(
  attempt: Attempt,
  { client }: WorkerSettings,
  result: ExecutionRunResult,
): Promise<Carried> {
  attempt.beginCompletion();
  const send = (its: ExecutionRunResult) =>
    attempt.call('any', (options) =>
      client.completeExternalExecutionLease({ ...attempt.proof, result: its }, options),
    );
  try {
    await send(result).catch((error: unknown) => {
      if (result.result === undefined || !isOfContent(error)) throw error;
      attempt.tell('error', 'the service refused the result', error);
      return send(failed('validation', 'The result was refused'));
    });
  } catch (error) {
    const lost = isLost(error) || attempt.over !== null;
    attempt.tell('warning', lost ? 'the lease is lost' : 'the run could not be completed', error);
    throw new WorkNotDoneError('The run was not completed.', { cause: error });
  }
  attempt.tell('debug', 'the run was completed');
  return 'executed';
}

const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

function isOfContent(error: unknown): boolean {
  return error instanceof APIStatusError && error.problem !== null && contentStatuses.has(error.status);
}
