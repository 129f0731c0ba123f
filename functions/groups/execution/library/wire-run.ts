import type { ExecutionRun } from '../../../../contracts/generated/models.ts';
import { missingRun } from '../../../runs/held.ts';
import { findValues, findWhole } from '../../../runs/read-runs.ts';
import { NULL_VALUE, type Run, type StoredValue } from '../../../runs/run.ts';
import { runModel } from '../../../runs/run-model.ts';
import type { Runtime } from '../../../runs/runtime.ts';
import { fittingCount } from '../../../store/pages.ts';

/** Runs as answers show them, also those of groups whose operations answer a run. */

export interface RunView {
  /** True only if the request repeats an earlier one. */
  readonly replayed?: boolean;
  readonly includeResult?: boolean;
}

/** The run for a caller that may change but not read it: receipt, status and counts, without texts or values of others. */
export function asReceipt(run: Run, principal: string | null): Run {
  const { scope, handlerVersion: _ofWorker, ...rest } = run;
  const own = scope === null || scope.serviceIdentity === principal;
  return {
    ...rest,
    payload: NULL_VALUE,
    result: NULL_VALUE,
    statusDetails: null,
    currentStep: null,
    error: null,
    tags: {},
    scope: own ? scope : { ...scope, serviceIdentity: null },
  };
}

/** The run as an answer shows it, with payload and result. */
export async function wireRun(runtime: Runtime, run: Run, view: RunView = {}): Promise<ExecutionRun> {
  const [wired] = await wireRuns(runtime, [run], view);
  if (wired === undefined) throw missingRun();
  return wired;
}

/** Runs that are removed during the read are left out. */
export async function wireRuns(
  runtime: Runtime,
  runs: readonly Run[],
  { replayed = false, includeResult = true }: RunView = {},
): Promise<ExecutionRun[]> {
  const values = runs.flatMap((run): StoredValue[] => [
    run.payload,
    includeResult ? run.result : { json: null },
  ]);
  const loaded = await findValues(runtime, values);
  const wired: ExecutionRun[] = [];
  for (const [index, run] of runs.entries()) {
    const payload = loaded[2 * index];
    const result = loaded[2 * index + 1];
    if (payload !== undefined && result !== undefined) {
      wired.push(runModel(run, payload, result, replayed));
      continue;
    }
    // The result was replaced after the read of the run. Read both again as of one moment.
    const now = await findWhole(runtime, run);
    if (now !== null) wired.push(runModel(now.run, now.payload, includeResult ? now.result : null, replayed));
  }
  return wired;
}

/** The first runs that fit one answer, and at least one. */
export function withinAnswer(runs: readonly Run[], { includeResult = true }: RunView): readonly Run[] {
  const charactersIn = (run: Run): number =>
    charactersOf(run.payload) +
    (includeResult ? charactersOf(run.result) : 0) +
    JSON.stringify(runModel(run, null, null, false)).length;
  return runs.slice(0, fittingCount(runs, charactersIn));
}

function charactersOf(value: StoredValue): number {
  return 'json' in value ? JSON.stringify(value.json).length : (value.characters ?? 0);
}
