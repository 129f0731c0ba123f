import { describeFailure } from '../kernel/log.ts';
import type { Held } from './held.ts';
import { isLeaseRefusal } from './outcome.ts';
import type { Runtime } from './runtime.ts';
import { release } from './work.ts';

/** Requeues the run of a handler that a stop has interrupted. If that fails, its lease expires. */
export async function giveBack(runtime: Runtime, { runId, workerId, tokenHash }: Held): Promise<void> {
  try {
    await release(runtime, { runId, workerId, tokenHash }, runtime.world.clock.now());
  } catch (error) {
    // The handler completed or parked the run at the same time.
    if (isLeaseRefusal(error)) return;
    const failure = describeFailure(error);
    runtime.log({
      severity: 'WARNING',
      message: 'A run could not be given back; its lease expires',
      failure,
    });
  }
}
