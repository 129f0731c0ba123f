import type { GroupHandlers } from '../../http/handler.ts';
import { startExternalExecutionLeaseChild } from './child-operations.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { getExecutionRunHistory, listExecutionRuns } from './list-operations.ts';
import {
  getExecutionRuntimeMaintenance,
  pruneExecutionRuntimeMaintenance,
  reconcileExecutionRuntimeDispatch,
} from './maintenance-operations.ts';
import {
  cancelExecutionRun,
  getExecutionRun,
  getExecutionRunArtifact,
  getExecutionRunCheckpoint,
  listExecutionRunArtifacts,
  raiseExecutionEvent,
  startExecutionRun,
} from './run-operations.ts';
import { getEffectiveExecutionRuntime, getExecutionRuntime } from './status-operations.ts';
import {
  completeExternalExecutionLease,
  getExternalExecutionLeaseCheckpoint,
  heartbeatExternalExecutionLease,
  leaseExternalExecutionRun,
  putExternalExecutionLeaseArtifact,
  putExternalExecutionLeaseCheckpoint,
  recordExternalExecutionLeaseEvent,
  releaseExternalExecutionLease,
  reportExternalExecutionLease,
  waitExternalExecutionLease,
} from './worker-operations.ts';

/** The operations of the execution group. */
export function executionHandlers(dependencies: ExecutionDependencies): GroupHandlers<'execution'> {
  return {
    getExecutionRuntime: getExecutionRuntime(dependencies),
    getEffectiveExecutionRuntime: getEffectiveExecutionRuntime(dependencies),
    getExecutionRuntimeMaintenance: getExecutionRuntimeMaintenance(dependencies),
    pruneExecutionRuntimeMaintenance: pruneExecutionRuntimeMaintenance(dependencies),
    reconcileExecutionRuntimeDispatch: reconcileExecutionRuntimeDispatch(dependencies),
    listExecutionRuns: listExecutionRuns(dependencies),
    startExecutionRun: startExecutionRun(dependencies),
    getExecutionRun: getExecutionRun(dependencies),
    cancelExecutionRun: cancelExecutionRun(dependencies),
    raiseExecutionEvent: raiseExecutionEvent(dependencies),
    getExecutionRunHistory: getExecutionRunHistory(dependencies),
    listExecutionRunArtifacts: listExecutionRunArtifacts(dependencies),
    getExecutionRunArtifact: getExecutionRunArtifact(dependencies),
    getExecutionRunCheckpoint: getExecutionRunCheckpoint(dependencies),
    leaseExternalExecutionRun: leaseExternalExecutionRun(dependencies),
    heartbeatExternalExecutionLease: heartbeatExternalExecutionLease(dependencies),
    reportExternalExecutionLease: reportExternalExecutionLease(dependencies),
    recordExternalExecutionLeaseEvent: recordExternalExecutionLeaseEvent(dependencies),
    putExternalExecutionLeaseArtifact: putExternalExecutionLeaseArtifact(dependencies),
    putExternalExecutionLeaseCheckpoint: putExternalExecutionLeaseCheckpoint(dependencies),
    getExternalExecutionLeaseCheckpoint: getExternalExecutionLeaseCheckpoint(dependencies),
    startExternalExecutionLeaseChild: startExternalExecutionLeaseChild(dependencies),
    waitExternalExecutionLease: waitExternalExecutionLease(dependencies),
    completeExternalExecutionLease: completeExternalExecutionLease(dependencies),
    releaseExternalExecutionLease: releaseExternalExecutionLease(dependencies),
  };
}
