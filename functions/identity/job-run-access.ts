import type { VerifiedCaller } from './authorizer.ts';
import type { ExecutionAccess, ExecutionRunRef } from './execution-access.ts';
import type { RecordAccess, RecordAccessOperation } from './record-access.ts';

/**
 * The rules of runs where some runs are jobs that carry records of a space: their payloads and results are records. A caller
 * who may read or cancel runs also needs the right of that space, as the views of these jobs demand it.
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
    // The rules throw refusals only.
    return false;
  }
}
