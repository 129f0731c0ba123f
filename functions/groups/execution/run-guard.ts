import type { Caller } from '../../identity/caller.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { RunGuard } from '../../runs/control.ts';
import { missingRun } from '../../runs/held.ts';
import { requireRun } from '../../runs/read-runs.ts';
import type { Run } from '../../runs/run.ts';
import type { ExecutionDependencies } from './dependencies.ts';

export async function readable(
  dependencies: ExecutionDependencies,
  caller: Caller,
  runId: string,
): Promise<Run> {
  const run = await requireRun(dependencies.runtime, runId);
  guardOf(dependencies, caller, 'read_run')(run);
  return run;
}

/** A caller without access gets the same answer as for a missing run. */
export function guardOf(
  { access }: ExecutionDependencies,
  caller: Caller,
  operation: 'read_run' | 'cancel_run' | 'raise_event',
): RunGuard {
  if (access === null) return () => undefined;
  return (run) => {
    try {
      access.authorizeRun(verifiedCaller(caller), run, operation);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'permission_denied') throw missingRun();
      throw error;
    }
  };
}
