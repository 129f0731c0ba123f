import type { ExecutionRun } from '../../../../contracts/generated/models.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { elapsedMs, formatUtc } from '../../../kernel/timestamp.ts';
import { admissionOf } from '../../../runs/admission.ts';
import { missingRun } from '../../../runs/held.ts';
import { findValues, findWhole } from '../../../runs/read-runs.ts';
import { NULL_VALUE, type Run, type StoredValue } from '../../../runs/run.ts';
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
      wired.push(inWireOrder(run, payload, result, replayed));
      continue;
    }
    // The result was replaced after the read of the run. Read both again as of one moment.
    const now = await findWhole(runtime, run);
    if (now !== null)
      wired.push(inWireOrder(now.run, now.payload, includeResult ? now.result : null, replayed));
  }
  return wired;
}

/** The first runs that fit one answer, and at least one. */
export function withinAnswer(runs: readonly Run[], { includeResult = true }: RunView): readonly Run[] {
  const charactersIn = (run: Run): number =>
    charactersOf(run.payload) +
    (includeResult ? charactersOf(run.result) : 0) +
    JSON.stringify(inWireOrder(run, null, null, false)).length;
  return runs.slice(0, fittingCount(runs, charactersIn));
}

function charactersOf(value: StoredValue): number {
  return 'json' in value ? JSON.stringify(value.json).length : (value.characters ?? 0);
}

function inWireOrder(run: Run, payload: Json, result: Json, replayed: boolean): ExecutionRun {
  return {
    admission: admissionOf(run, replayed),
    id: run.id,
    handlerId: run.handlerId,
    pluginId: run.pluginId,
    status: run.status,
    attempt: run.attempt,
    maxAttempts: run.retryPolicy.maxAttempts,
    failures: run.failures,
    handlerVersion: run.handlerVersion ?? null,
    retryPolicy: run.retryPolicy,
    correlationId: run.correlationId,
    scope: run.scope,
    payloadHash: run.payloadHash,
    payload,
    createdAtUtc: formatUtc(run.createdAt),
    scheduledAtUtc: moment(run.scheduledAt),
    startedAtUtc: moment(run.startedAt),
    updatedAtUtc: formatUtc(run.updatedAt),
    completedAtUtc: moment(run.completedAt),
    durationMs:
      run.completedAt === null ? null : elapsedMs(run.startedAt ?? run.completedAt, run.completedAt),
    cancellationRequested: run.cancellationRequested,
    requested: run.requested,
    attempted: run.attempted,
    succeeded: run.succeeded,
    failed: run.failed,
    progress: run.progress,
    currentStep: run.currentStep,
    failureClass: run.failureClass,
    error: run.error,
    result,
    statusDetails: run.statusDetails,
    tags: run.tags,
    ...(run.parentId === undefined ? {} : { parentRunId: run.parentId }),
    ...(run.startKey === undefined ? {} : { concurrencyKey: run.startKey }),
    ...(run.firstCheckpoints === undefined ? {} : { firstCheckpoints: run.firstCheckpoints }),
  };
}

function moment(at: number | null): string | null {
  return at === null ? null : formatUtc(at);
}
