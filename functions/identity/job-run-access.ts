import type { VerifiedCaller } from './authorizer.ts';
import type { ExecutionAccess, ExecutionRunRef } from './execution-access.ts';
import type { RecordAccess, RecordAccessOperation } from './record-access.ts';

/**
 * Access rules of runs that include jobs on a space. Payloads and results of these jobs are records, so a caller who may read or
 * cancel runs also needs the right in that space, as in the job views.
 */
export function withSpaceRights(
  access: ExecutionAccess,
  records: Pick<RecordAccess, 'judgeRecordJob'>,
  carriesRecords: (family: string) => boolean,
): ExecutionAccess {
  const judge = (caller: VerifiedCaller, { job }: ExecutionRunRef, operation: RecordAccessOperation) => {
    if (job === undefined || !carriesRecords(job.family)) return;
    records.judgeRecordJob({ caller, space: job.space, operation });
  };
  return {
    ...access,
    authorizeRun(caller, run, operation) {
      access.authorizeRun(caller, run, operation);
      judge(caller, run, operation === 'read_run' ? 'read' : 'write');
    },
    maySee: (caller, run) => access.maySee(caller, run) && holds(() => judge(caller, run, 'read')),
  };
}

function holds(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    // The rules throw refusals and no other errors.
    return false;
  }
}
