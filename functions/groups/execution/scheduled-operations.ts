import type { OperationEntry } from '../../../contracts/operation.ts';
import type { CallContext } from '../../http/handler.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { accountForRuns } from '../../runs/maintenance/account.ts';
import { runUpkeep } from '../../runs/maintenance/automatic-upkeep.ts';
import { pruneAll } from '../../runs/maintenance/prune.ts';
import { reconcileAll } from '../../runs/maintenance/reconcile.ts';
import { routeOf } from './delivery-operation.ts';
import type { ExecutionDependencies } from './dependencies.ts';

/** Maintenance for a scheduler. It takes no input and does all work that is due. */

/** No batch begins after this time. The next call does the rest. */
const BUDGET_MS = 30_000;

export type ScheduledFunction = 'reconcile' | 'prune';

/** `POST /` of the function, without a body. */
export function scheduledOperation(name: ScheduledFunction): OperationEntry {
  return {
    id: name,
    group: 'execution',
    stability: 'internal',
    // The operations of the contract for the same work have this class.
    authorizationClass: 'execution-policy',
    rateClass: null,
    accessOperation: 'maintenance',
    mutation: name === 'prune' ? 'delete' : 'write',
    completion: 'maintenance',
    idempotency: { requirement: 'unsupported', location: null },
    routes: [routeOf(name, 'POST', '/')],
    requestSchema: null,
    requestMediaType: null,
    bodyLimitBytes: null,
    responses: [{ status: 200, mediaType: 'application/json', schema: null, headers: [] }],
    problems: ['unauthenticated', 'permission_denied', 'unavailable'],
  };
}

/** The most forgotten runs that one log line names. */
const FAULTS_TOLD = 10;

async function accountOfRuns(runtime: ExecutionDependencies['runtime'], isOver: () => boolean) {
  const { runs, faults, more } = await accountForRuns(runtime, { isOver });
  if (faults.length > 0)
    runtime.log({ severity: 'ERROR', message: 'Active runs were found that would never continue' });
  return { runs, more, faulty: faults.length, faults: faults.slice(0, FAULTS_TOLD) };
}

export function scheduledHandler(
  name: ScheduledFunction,
  { runtime, access, upkeep = [] }: ExecutionDependencies,
) {
  const work = {
    reconcile: async (now: number, deadline: number) => ({
      ...(await reconcileAll(runtime, now, { deadline })),
      // The removal of a large collection takes many calls, so once a day is not enough.
      upkeep: await runUpkeep(runtime, upkeep),
    }),
    // The check for forgotten runs reads every run, so only the daily prune makes it.
    prune: async (now: number, deadline: number) => ({
      ...(await pruneAll(runtime, now, { deadline, ageMsMin: runtime.options.retainedAgeMsMin })),
      upkeep: await runUpkeep(runtime, upkeep),
      account: await accountOfRuns(runtime, () => runtime.world.clock.now() >= deadline),
    }),
  }[name];
  return async (_input: unknown, { caller, now }: CallContext) => {
    access?.authorizeMaintenance(verifiedCaller(caller));
    const counts = await work(now, now + BUDGET_MS);
    runtime.log({ severity: 'INFO', message: `The function ${name} is done: ${JSON.stringify(counts)}` });
    return { status: 200 as const, body: { function: name, atUtc: formatUtc(now), ...counts } };
  };
}
