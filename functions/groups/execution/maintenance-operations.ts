import { limits } from '../../../contracts/generated/limits.ts';
import type { Handler } from '../../http/handler.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { prune } from '../../runs/maintenance/prune.ts';
import { reconcile } from '../../runs/maintenance/reconcile.ts';
import { countKept } from '../../runs/maintenance/status.ts';
import type { ExecutionDependencies } from './dependencies.ts';

export function getExecutionRuntimeMaintenance({
  runtime,
  access,
  adapter,
}: ExecutionDependencies): Handler<'getExecutionRuntimeMaintenance'> {
  return async (_input, { caller, now }) => {
    access?.authorizeMaintenance(verifiedCaller(caller));
    const { runCounts, rowCounts, bytes } = await countKept(runtime);
    return {
      status: 200,
      body: {
        adapterId: runtime.options.adapterId,
        runtimeKind: runtime.options.runtimeKind,
        checkedAtUtc: formatUtc(now),
        retentionScope: adapter.retentionScope,
        maxRetainedTerminalRuns: runtime.options.retainedRunsMax,
        runCounts,
        rowCounts: { ...rowCounts },
        // Callers cannot use a local path or a bucket name.
        artifactDirectory: null,
        artifactDirectoryCount: bytes?.directories ?? null,
        artifactFileCount: bytes?.files ?? null,
        artifactBytes: bytes?.size ?? null,
      },
    };
  };
}

export function pruneExecutionRuntimeMaintenance({
  runtime,
  access,
}: ExecutionDependencies): Handler<'pruneExecutionRuntimeMaintenance'> {
  return async ({ body }, { caller, now }) => {
    access?.authorizeMaintenance(verifiedCaller(caller));
    const dryRun = body.dryRun ?? true;
    const retainTerminalRuns = body.retainTerminalRuns ?? runtime.options.retainedRunsMax;
    const pruned = await prune(runtime, { dryRun, retainTerminalRuns }, now);
    return { status: 200, body: { dryRun, retainTerminalRuns, prunedAtUtc: formatUtc(now), ...pruned } };
  };
}

export function reconcileExecutionRuntimeDispatch({
  runtime,
  access,
}: ExecutionDependencies): Handler<'reconcileExecutionRuntimeDispatch'> {
  return async ({ body }, { caller, now }) => {
    access?.authorizeMaintenance(verifiedCaller(caller));
    const dryRun = body.dryRun ?? false;
    const limit = body.limit ?? limits.executionReconcileRunsMax;
    const reconciled = await reconcile(runtime, { dryRun, limit }, now);
    return { status: 200, body: { dryRun, limit, reconciledAtUtc: formatUtc(now), ...reconciled } };
  };
}
