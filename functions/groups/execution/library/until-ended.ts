import { limits } from '../../../../contracts/generated/limits.ts';
import type { CallContext } from '../../../http/handler.ts';
import { type Caller, placeOwnerOf } from '../../../identity/caller.ts';
import type { PlaceOwners } from '../../../kernel/waiting-places.ts';
import { requireRun } from '../../../runs/read-runs.ts';
import { isTerminal, type Run } from '../../../runs/run.ts';
import type { Runtime } from '../../../runs/runtime.ts';
import { tenantOwner } from './wait-owners.ts';

type WaitContext = Pick<CallContext, 'caller' | 'signal' | 'draining' | 'aside'>;

export interface EndWish {
  readonly runId: string;
  readonly waitMs: number;
  /** Sees each state of the run. Throws to end the wait, such as for a caller that may not read the run. */
  readonly look?: (run: Run) => void;
}

/** Reads the run, and waits for its end until the time is over, the caller leaves or the server begins to stop. */
export async function untilEnded(
  runtime: Runtime,
  { runId, waitMs, look = () => undefined }: EndWish,
  { caller, signal, draining, aside }: WaitContext,
): Promise<Run> {
  const read = async (known: Run | null) => {
    const run = known ?? (await requireRun(runtime, runId));
    look(run);
    return { value: run, done: isTerminal(run.status), owners: waitOwners(caller, run, aside) };
  };
  if (waitMs === 0) return (await read(null)).value;
  // A stopping server answers its waiting callers at once.
  const over = draining === undefined ? signal : AbortSignal.any([signal, draining]);
  return runtime.watch.until({ runId, waitMs, signal: over }, read);
}

/** Owners of a waiting call: the caller and the tenant of the run, so that one tenant leaves places to others of the same caller. */
function waitOwners(caller: Caller, run: Run, aside?: () => void): PlaceOwners {
  const own = placeOwnerOf(caller, aside);
  const tenant = tenantOwner(run, limits.executionRunWaitingCallsPerTenantMax);
  return tenant === null ? [own] : [own, tenant];
}
